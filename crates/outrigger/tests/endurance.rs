//! Many renders and many restarts: nothing may be left, nobody may hang.
//!
//! A short run here; `cargo xtask soak` does ten thousand renders and a thousand restarts.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

mod support;

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::signal::Signal;
use support::*;

fn number(variable: &str, otherwise: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Resident memory in kilobytes.
fn memory(server: &Server) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn descriptors(server: &Server) -> usize {
    std::fs::read_dir(format!("/proc/{}/fd", server.process.id())).unwrap().count()
}

/// What the script of a render does, by its number: every tenth goes wrong, each time in another way.
fn fate(number: usize) -> &'static str {
    match number % 40 {
        9 => "kill",
        19 => "timeout",
        29 => "cancel",
        39 => "orphan",
        _ => "fine",
    }
}

const SCRIPT: &str = r#"
case "$FATE" in
  kill) (sleep 100 & sleep 100) >/dev/null 2>&1 & kill -9 $$ ;;
  timeout|cancel) (sleep 100 & sleep 100) & sleep 100 ;;
  orphan) setsid sleep 1 >/dev/null 2>&1 & ;;
esac
echo "fate: $FATE"
"#;

#[tokio::test(flavor = "multi_thread")]
async fn renders_that_are_killed_timed_out_or_cancelled_leave_nothing() {
    let renders = number("OUTRIGGER_SOAK_RENDERS", 240);
    let spec = format!("generate:\n  command: [sh, -c]\n  args:\n    - {SCRIPT:?}\n");
    let server = Arc::new(Setup::new(&spec).arg("--loglevel=error").start());
    let repo = tree(&[("a.yaml", "x: 1\n"), ("deep/er/b.yaml", "")]);
    let next = Arc::new(AtomicUsize::new(0));
    let before = (descriptors(&server), memory(&server));
    let mut checkpoints = Vec::new();
    let workers: Vec<_> = (0..8)
        .map(|_| {
            let (server, next, repo) = (Arc::clone(&server), Arc::clone(&next), repo.path().to_owned());
            tokio::spawn(async move {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= renders {
                        return;
                    }
                    let fate = fate(number);
                    let messages = messages(&repo, ".", &[("FATE", fate)]).await;
                    let mut client = server.client().await;
                    let timeout = if fate == "timeout" { Duration::from_millis(600) } else { MINUTE };
                    let call = client.generate_manifest(request(messages, timeout));
                    if fate == "cancel" {
                        assert!(tokio::time::timeout(Duration::from_millis(150), call).await.is_err());
                        continue;
                    }
                    match call.await {
                        Ok(reply) => {
                            assert_eq!(reply.into_inner().manifests, [format!(r#"{{"fate":"{fate}"}}"#)]);
                        }
                        Err(status) => assert!(["kill", "timeout"].contains(&fate), "{fate}: {status}"),
                    }
                }
            })
        })
        .collect();
    while next.load(Ordering::Relaxed) < renders {
        tokio::time::sleep(Duration::from_millis(200)).await;
        checkpoints.push((next.load(Ordering::Relaxed), memory(&server)));
    }
    for worker in workers {
        worker.await.unwrap();
    }
    server.wait_until_tidy();
    server.wait_until("no descriptor is left", |server| descriptors(server) <= before.0);
    let half = checkpoints.iter().filter(|(done, _)| *done > renders / 2);
    let late = half.clone().map(|(_, memory)| *memory).max().unwrap_or(0);
    let early = checkpoints
        .iter()
        .filter(|(done, _)| *done <= renders / 2)
        .map(|(_, memory)| *memory)
        .max()
        .unwrap_or(late);
    println!(
        "{renders} renders: descriptors {} before and {} after, memory {} kB before, at most {early} kB in the first half and {late} kB in the second",
        before.0,
        descriptors(&server),
        before.1
    );
    assert!(late <= early + early / 4 + 4096, "memory grows: {early} kB, then {late} kB");
}

/// Dials as the repo-server does: waits without a limit of its own for the first frame of the server.
fn dial(path: &std::path::Path) -> Result<(), String> {
    let mut stream = UnixStream::connect(path).map_err(|error| error.to_string())?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .map_err(|error| format!("HANG: {error}"))?;
    let mut head = [0; 9];
    // Connected and then nothing: the repo-server would wait for ever.
    stream.read_exact(&mut head).map_err(|error| format!("HANG: connected, then {error}"))?;
    if head[3] == 4 { Ok(()) } else { Err(format!("HANG: the first frame is of type {}", head[3])) }
}

#[test]
fn a_dialling_client_never_hangs_over_a_restart() {
    let restarts = number("OUTRIGGER_SOAK_RESTARTS", 25);
    let place = tempfile::Builder::new().prefix("or-").tempdir().unwrap();
    for dir in ["config", "plugins", "work"] {
        std::fs::create_dir(place.path().join(dir)).unwrap();
    }
    std::fs::write(place.path().join("config/plugin.yaml"), plugin_yaml(&generate("true"))).unwrap();
    let socket = place.path().join("plugins/tested.sock");
    let stop = Arc::new(AtomicBool::new(false));
    let dialled = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, dialled, socket) = (Arc::clone(&stop), Arc::clone(&dialled), socket.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match dial(&socket) {
                        Ok(()) => drop(dialled.fetch_add(1, Ordering::Relaxed)),
                        Err(error) => assert!(!error.starts_with("HANG"), "{error}"),
                    }
                }
            })
        })
        .collect();
    for _ in 0..restarts {
        let mut process = std::process::Command::new(BINARY)
            .env("ARGOCD_BINARY_NAME", "argocd-cmp-server")
            .env("ARGOCD_PLUGINSOCKFILEPATH", place.path().join("plugins"))
            .env("ARGOCD_CMP_WORKDIR", place.path().join("work"))
            .arg("--config-dir-path")
            .arg(place.path().join("config"))
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let seen = dialled.load(Ordering::Relaxed);
        let started = std::time::Instant::now();
        while dialled.load(Ordering::Relaxed) < seen + 20 {
            assert!(started.elapsed() < Duration::from_secs(20), "nobody gets through");
            std::thread::sleep(Duration::from_millis(1));
        }
        nix::sys::signal::kill(
            nix::unistd::Pid::from_raw(i32::try_from(process.id()).unwrap()),
            Signal::SIGTERM,
        )
        .unwrap();
        assert!(process.wait().unwrap().success());
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().unwrap();
    }
    println!("{restarts} restarts, {} dials answered, none hung", dialled.load(Ordering::Relaxed));
}
