//! Work that must be done although nobody waits for it: reaping process groups, removing trees.

use tokio_util::task::TaskTracker;

/// Runs clean-up in the background and lets a shutdown wait for it.
#[derive(Clone, Default)]
pub struct Janitor {
    tasks: TaskTracker,
}

impl Janitor {
    /// Starts `work`; it goes on when the caller is cancelled.
    ///
    /// Must be called within a tokio runtime.
    pub fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        self.tasks.spawn(work);
    }

    /// Waits until everything started so far is done.
    pub async fn finish(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}
