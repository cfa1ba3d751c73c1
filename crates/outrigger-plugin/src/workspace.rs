//! What a render holds while it runs: its tree, its processes, its slot. All of it ends together.

use outrigger_source::Tree;
use tokio::sync::OwnedSemaphorePermit;
use tracing::{Instrument as _, Span, error};

use crate::command::{CommandError, Group, Invocation, Output, run};
use crate::janitor::Janitor;

/// A private tree with the processes that run in it.
///
/// Dropping it kills the processes at once; the janitor then reaps them, removes the tree and frees the
/// slot, in this order, so that nothing writes into a tree that is being removed and no more trees lie
/// around than there are slots.
pub(crate) struct Workspace {
    held: Held,
    janitor: Janitor,
}

#[derive(Default)]
struct Held {
    groups: Vec<Group>,
    trees: Vec<Tree>,
    slot: Option<OwnedSemaphorePermit>,
}

impl Workspace {
    /// A workspace that holds only its slot.
    pub(crate) fn new(slot: Option<OwnedSemaphorePermit>, janitor: Janitor) -> Self {
        Self { held: Held { slot, ..Held::default() }, janitor }
    }

    /// Takes over a tree.
    pub(crate) fn hold(&mut self, tree: Tree) {
        self.held.trees.push(tree);
    }

    /// Runs a command here; what it leaves running stays until the workspace ends.
    pub(crate) async fn run(&mut self, invocation: &Invocation<'_>) -> Result<Output, CommandError> {
        run(invocation, &mut self.held.groups).await
    }

    /// Ends every process, before the reply; the rest follows when the workspace is dropped.
    pub(crate) fn end_processes(&self) {
        self.held.groups.iter().for_each(Group::kill);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        self.end_processes();
        let Held { groups, trees, slot } = std::mem::take(&mut self.held);
        let cleaning = async move {
            for group in groups {
                group.end().await;
            }
            if !trees.is_empty() {
                let removed =
                    tokio::task::spawn_blocking(move || trees.into_iter().try_for_each(Tree::remove));
                if let Ok(Err(failure)) = removed.await {
                    error!(error = %failure, "cannot remove a render's tree");
                }
            }
            drop(slot);
        };
        self.janitor.spawn(cleaning.instrument(Span::current()));
    }
}
