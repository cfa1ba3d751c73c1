//! Process groups: every command leads one, and the group ends with its render.
//!
//! The leader is not reaped when it exits but when its group is ended: as long as its entry stays in the
//! process table, the kernel gives the group's number to nobody else, so a late signal hits only what
//! belongs to this render. Whatever the group leaves behind is reaped by group number; what left the
//! group (daemons) by [`adopt_orphans`], which never touches a process that somebody here waits for.

use std::collections::HashSet;
use std::process::{Child, Command};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The leaders that this process started and has not reaped yet.
static LEADERS: Mutex<Option<HashSet<Pid>>> = Mutex::new(None);
/// Shared by those who start a command, until it is known; taken alone by whoever looks for orphans.
static STARTING: RwLock<()> = RwLock::new(());
/// Told after a leader was reaped: it may have hidden an orphan from [`adopt_orphans`].
static REAPED: Notify = Notify::const_new();

fn leaders() -> MutexGuard<'static, Option<HashSet<Pid>>> {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A running (or exited) command with everything it started.
#[derive(Debug)]
pub(crate) struct Group {
    leader: Pid,
    ended: bool,
}

impl Group {
    /// Starts `command` as the leader of a new group.
    pub(crate) fn spawn(command: &mut Command) -> std::io::Result<(Self, Child)> {
        use std::os::unix::process::CommandExt as _;
        command.process_group(0);
        let _starting = STARTING.read().unwrap_or_else(PoisonError::into_inner);
        let child = command.spawn()?;
        let leader = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
        leaders().get_or_insert_default().insert(leader);
        Ok((Self { leader, ended: false }, child))
    }

    /// How the leader exited, if it did; it stays unreaped.
    pub(crate) fn status(&self) -> std::io::Result<Option<WaitStatus>> {
        let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
        loop {
            match waitid(Id::Pid(self.leader), peek) {
                Ok(WaitStatus::StillAlive) => return Ok(None),
                Ok(status) => return Ok(Some(status)),
                Err(Errno::EINTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }

    /// Waits until the leader exits; it stays unreaped.
    ///
    /// Everyone who waits here wakes at every child's end: wait for the output's end first, when the exit
    /// is near.
    pub(crate) async fn exited(&self) -> std::io::Result<WaitStatus> {
        let mut children = signal(SignalKind::child())?;
        loop {
            if let Some(status) = self.status()? {
                return Ok(status);
            }
            children.recv().await;
        }
    }

    /// Asks every process of the group to stop.
    pub(crate) fn terminate(&self) {
        // ESRCH: nobody is left to be told.
        let _ = killpg(self.leader, Signal::SIGTERM);
    }

    /// Kills every process of the group. They are gone when [`Group::reap`] returns.
    pub(crate) fn kill(&self) {
        let _ = killpg(self.leader, Signal::SIGKILL);
    }

    /// Kills what is left of the group and reaps it.
    pub(crate) async fn end(mut self) {
        self.kill();
        self.reap().await;
        self.ended = true;
    }

    /// Reaps one process of the group. The leader is forgotten before its number can belong to another.
    fn reap_one(&self, reap: WaitPidFlag) -> nix::Result<WaitStatus> {
        let mut leaders = leaders();
        let status = waitid(Id::PGid(self.leader), reap)?;
        if let (Some(leaders), Some(pid)) = (leaders.as_mut(), status.pid()) {
            leaders.remove(&pid);
        }
        Ok(status)
    }

    async fn reap(&self) {
        let Ok(mut children) = signal(SignalKind::child()) else {
            return;
        };
        let reap = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG;
        loop {
            match self.reap_one(reap) {
                Ok(WaitStatus::StillAlive) => {
                    children.recv().await;
                }
                Ok(_) | Err(Errno::EINTR) => {}
                // ECHILD: no child of ours is left in the group.
                Err(_) => break,
            }
        }
        REAPED.notify_one();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.ended {
            // Reaping needs a task: whoever owns groups hands them to the janitor. This is the last resort.
            self.kill();
        }
    }
}

/// Makes this process the parent of whatever its commands leave behind, and reaps it.
///
/// For a program that owns its process, as PID 1 of a plugin's container does: children that were not
/// started by this crate are taken for orphans. Must be called within a tokio runtime.
pub fn adopt_orphans() -> std::io::Result<()> {
    nix::sys::prctl::set_child_subreaper(true)?;
    let mut children = signal(SignalKind::child())?;
    tokio::spawn(async move {
        let mut next_search = Instant::now();
        loop {
            let may_hide_more = reap_orphans();
            tokio::select! {
                told = children.recv() => if told.is_none() { return },
                () = REAPED.notified() => {}
                () = tokio::time::sleep_until(next_search), if may_hide_more => {
                    search_orphans();
                    next_search = Instant::now() + Duration::from_secs(1);
                }
            }
        }
    });
    Ok(())
}

/// Reaps orphans as far as they show, and tells whether a leader may stand in front of more.
fn reap_orphans() -> bool {
    let peek = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    let _nobody_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let leaders = leaders();
    while let Ok(status) = waitid(Id::All, peek) {
        let Some(pid) = status.pid() else { return false };
        if leaders.as_ref().is_some_and(|leaders| leaders.contains(&pid)) {
            // Somebody waits for this one, and the kernel shows no other before it is reaped.
            return true;
        }
        reap_now(pid);
    }
    false
}

/// Looks through the process table for orphans that an unreaped leader hides.
fn search_orphans() {
    let _nobody_starts = STARTING.write().unwrap_or_else(PoisonError::into_inner);
    let leaders = leaders();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok().map(Pid::from_raw));
    for pid in pids.filter(|pid| !leaders.as_ref().is_some_and(|leaders| leaders.contains(pid))) {
        if is_dead_child(pid) {
            reap_now(pid);
        }
    }
}

/// Whether a process is ours and waits to be reaped.
fn is_dead_child(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // After the name, which may hold anything: state, parent.
    let mut fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ');
    fields.next() == Some("Z") && fields.next() == Some(&Pid::this().to_string())
}

fn reap_now(pid: Pid) {
    let _ = waitid(Id::Pid(pid), WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG);
}
