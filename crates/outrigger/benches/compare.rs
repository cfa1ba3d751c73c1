//! Speed and memory of the plugin server, beside the real argocd-cmp-server where there is one.
//!
//! `cargo xtask bench` builds what it needs and runs this. The Go server is any Argo CD binary, named by
//! `OUTRIGGER_BENCH_ARGOCD` or found at `target/peers/argocd`. Both servers get the same archives from the
//! same caller in 1,024-byte messages, in turns, in one run; the table shows the best round, the spread,
//! and ratios. Absolute times move with the machine: compare only within one table.
#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use outrigger_wire::plugin::AppStreamRequest;
use support::{MINUTE, PluginClient, client, plugin_yaml, request};

const ROUNDS: usize = 5;

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(run());
}

/// One of the servers to compare.
struct Contender {
    name: &'static str,
    binary: PathBuf,
}

fn contenders() -> Vec<Contender> {
    let target = Path::new(support::BINARY)
        .ancestors()
        .find(|dir| dir.ends_with("target"))
        .map(Path::to_owned);
    let target = target.unwrap_or_else(|| PathBuf::from("target"));
    let dist = target.join("dist/outrigger");
    let binary = if dist.is_file() {
        dist
    } else {
        PathBuf::from(support::BINARY)
    };
    let mut contenders = vec![Contender {
        name: "outrigger",
        binary,
    }];
    let go =
        std::env::var_os("OUTRIGGER_BENCH_ARGOCD").map_or_else(|| target.join("peers/argocd"), PathBuf::from);
    if go.is_file() {
        contenders.push(Contender {
            name: "argocd-cmp-server",
            binary: go,
        });
    } else {
        println!("no Argo CD binary (OUTRIGGER_BENCH_ARGOCD): only our own numbers follow\n");
    }
    contenders
}

struct Running {
    process: Child,
    place: tempfile::TempDir,
    socket: PathBuf,
    started_in: Duration,
}

impl Contender {
    /// Starts the server and waits until it takes connections.
    fn start(&self, spec: &str) -> Running {
        let place = tempfile::Builder::new().prefix("orb-").tempdir().unwrap();
        for dir in ["config", "plugins", "work"] {
            std::fs::create_dir(place.path().join(dir)).unwrap();
        }
        std::fs::write(place.path().join("config/plugin.yaml"), plugin_yaml(spec)).unwrap();
        let socket = place.path().join("plugins/tested.sock");
        let mut command = Command::new(&self.binary);
        command
            .env("ARGOCD_BINARY_NAME", "argocd-cmp-server")
            .env("ARGOCD_PLUGINSOCKFILEPATH", place.path().join("plugins"))
            .env("ARGOCD_CMP_WORKDIR", place.path().join("work"))
            .arg("--config-dir-path")
            .arg(place.path().join("config"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let started = Instant::now();
        let process = command.spawn().unwrap();
        while std::os::unix::net::UnixStream::connect(&socket).is_err() {
            assert!(
                started.elapsed() < Duration::from_secs(20),
                "{} does not start",
                self.name
            );
            std::thread::sleep(Duration::from_micros(200));
        }
        Running {
            process,
            place,
            socket,
            started_in: started.elapsed(),
        }
    }
}

impl Running {
    /// A line of /proc/PID/status in megabytes.
    fn memory(&self, line: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process.id())).unwrap();
        let line = status.lines().find(|text| text.starts_with(line)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// Waits until the last render is cleaned up, so that it does not disturb the next measurement.
    fn settle(&self) {
        let trees = self.place.path().join("work/_cmp_server");
        while std::fs::read_dir(&trees).is_ok_and(|mut dir| dir.next().is_some()) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The rounds of one measurement.
#[derive(Default)]
struct Rounds(Vec<f64>);

impl Rounds {
    fn best(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn worst(&self) -> f64 {
        self.0.iter().copied().fold(0.0, f64::max)
    }
}

#[derive(Clone, Copy)]
enum Question {
    Generate,
    Match,
}

const GENERATE: &str = "generate:\n  command: [cat, first.yaml]\n";
const BY_GLOB: &str =
    "generate:\n  command: [cat, first.yaml]\ndiscover:\n  find:\n    glob: '**/none.toml'\n";
const BY_NAME: &str = "generate:\n  command: [cat, first.yaml]\ndiscover:\n  fileName: 'first.*'\n";

async fn run() {
    let contenders = contenders();
    let place = tempfile::tempdir().unwrap();
    let (large, tiny) = (place.path().join("large"), place.path().join("tiny"));
    lay_out(&large, 3000, 4400);
    lay_out(&tiny, 2, 100);
    let large_messages = support::messages(&large, ".", &[]).await;
    let tiny_messages = support::messages(&tiny, ".", &[]).await;
    println!("{:<46} {:>12} {:>12}   ratios", "", "best", "worst");

    let tar = gnu_tar(&large, place.path());
    row("GNU tar x + rm, 3000 files", &tar, "ms", "");
    for (what, spec, question) in [
        ("generate, 3000 files", GENERATE, Question::Generate),
        ("match by glob, 3000 files", BY_GLOB, Question::Match),
        ("match by fileName, 3000 files", BY_NAME, Question::Match),
    ] {
        let rounds = in_turns(&contenders, spec, &large_messages, question).await;
        for (contender, times) in contenders.iter().zip(&rounds) {
            let to_tar = matches!(question, Question::Generate)
                .then(|| format!("{:.2} x tar+rm", times.best() / tar.best()));
            row(
                &format!("{what}: {}", contender.name),
                times,
                "ms",
                &to_tar.unwrap_or_default(),
            );
        }
        compare(&rounds, "as fast");
    }
    for (what, spec, question) in [
        ("generate, tiny, 64 at once", GENERATE, Question::Generate),
        ("match, tiny, 64 at once", BY_NAME, Question::Match),
    ] {
        let mut rates = Vec::new();
        for contender in &contenders {
            let server = contender.start(spec);
            let mut rounds = Rounds::default();
            for _ in 0..3 {
                rounds
                    .0
                    .push(crowd(&server.socket, &tiny_messages, question).await);
            }
            println!(
                "{:<46} {:>9.0} /s {:>9.0} /s",
                format!("{what}: {}", contender.name),
                rounds.worst(),
                rounds.best()
            );
            rates.push(rounds.worst());
        }
        if let [ours, theirs] = rates[..] {
            println!("{:<74}{:.1} x the rate", "", ours / theirs);
        }
    }
    large_tree(&contenders, place.path()).await;
    idle(&contenders);
}

/// Every contender in every round, one after the other; milliseconds.
async fn in_turns(
    contenders: &[Contender],
    spec: &str,
    messages: &[AppStreamRequest],
    question: Question,
) -> Vec<Rounds> {
    let servers: Vec<Running> = contenders.iter().map(|contender| contender.start(spec)).collect();
    let mut rounds: Vec<Rounds> = contenders.iter().map(|_| Rounds::default()).collect();
    for round in 0..=ROUNDS {
        for (server, times) in servers.iter().zip(&mut rounds) {
            let mut client = client(&server.socket).await;
            let messages = messages.to_vec();
            let started = Instant::now();
            ask(&mut client, messages, question).await;
            let took = started.elapsed();
            server.settle();
            // The first round warms caches up.
            if round > 0 {
                times.0.push(took.as_secs_f64() * 1e3);
            }
        }
    }
    rounds
}

async fn ask(client: &mut PluginClient, messages: Vec<AppStreamRequest>, question: Question) {
    match question {
        Question::Generate => {
            let reply = client
                .generate_manifest(request(messages, MINUTE))
                .await
                .unwrap()
                .into_inner();
            assert_eq!(reply.manifests.len(), 1);
        }
        Question::Match => {
            let reply = client
                .match_repository(request(messages, MINUTE))
                .await
                .unwrap()
                .into_inner();
            assert!(reply.is_discovery_enabled);
        }
    }
}

/// Sixty-four callers, each with a connection of its own per question as the repo-server does; answers per second.
async fn crowd(socket: &Path, messages: &[AppStreamRequest], question: Question) -> f64 {
    const CALLERS: usize = 64;
    const EACH: usize = 20;
    let started = Instant::now();
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let (socket, messages) = (socket.to_owned(), messages.to_vec());
        callers.push(tokio::spawn(async move {
            for _ in 0..EACH {
                let mut client = client(&socket).await;
                ask(&mut client, messages.clone(), question).await;
            }
        }));
    }
    for caller in callers {
        caller.await.unwrap();
    }
    (CALLERS * EACH) as f64 / started.elapsed().as_secs_f64()
}

/// Time and peak memory with half a gigabyte of files.
async fn large_tree(contenders: &[Contender], place: &Path) {
    let dir = place.join("half-a-gigabyte");
    lay_out(&dir, 500, 1_000_000);
    let messages = support::messages(&dir, ".", &[]).await;
    std::fs::remove_dir_all(&dir).unwrap();
    for contender in contenders {
        let server = contender.start(GENERATE);
        let started = Instant::now();
        ask(
            &mut client(&server.socket).await,
            messages.clone(),
            Question::Generate,
        )
        .await;
        let took = started.elapsed();
        let peak = server.memory("VmHWM");
        println!(
            "{:<46} {:>9.0} ms {:>6.1} MB peak",
            format!("generate, 500 MB: {}", contender.name),
            took.as_secs_f64() * 1e3,
            peak
        );
    }
}

fn idle(contenders: &[Contender]) {
    for contender in contenders {
        let mut starts = Rounds::default();
        let mut memory = 0.0;
        for _ in 0..ROUNDS {
            let server = contender.start(GENERATE);
            starts.0.push(server.started_in.as_secs_f64() * 1e3);
            std::thread::sleep(Duration::from_millis(300));
            memory = server.memory("VmRSS");
        }
        let size = std::fs::metadata(&contender.binary).unwrap().len() as f64 / 1e6;
        println!(
            "{:<46} {:>9.1} ms {memory:>6.1} MB idle, {size:.1} MB binary",
            format!("start to socket: {}", contender.name),
            starts.best()
        );
    }
}

/// The same archive through GNU tar; milliseconds.
fn gnu_tar(dir: &Path, place: &Path) -> Rounds {
    let archive = place.join("large.tgz");
    let file = std::fs::File::create(&archive).unwrap();
    outrigger_source::pack::pack(dir, &outrigger_source::pack::Options::default(), file).unwrap();
    let mut rounds = Rounds::default();
    for round in 0..=ROUNDS {
        let out = place.join("out");
        std::fs::create_dir(&out).unwrap();
        let started = Instant::now();
        let unpacked = Command::new("tar")
            .arg("xzf")
            .arg(&archive)
            .arg("-C")
            .arg(&out)
            .status()
            .unwrap();
        let removed = Command::new("rm").arg("-rf").arg(&out).status().unwrap();
        assert!(unpacked.success() && removed.success());
        if round > 0 {
            rounds.0.push(started.elapsed().as_secs_f64() * 1e3);
        }
    }
    rounds
}

/// A tree of files that compress about as well as manifests do.
fn lay_out(dir: &Path, files: usize, bytes: usize) {
    let mut seed = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    std::fs::create_dir_all(dir).unwrap();
    std::fs::write(dir.join("first.yaml"), "kind: ConfigMap\n").unwrap();
    for number in 1..files {
        let parent = dir.join(format!("team-{}/app-{}/base", number % 10, number / 10 % 30));
        std::fs::create_dir_all(&parent).unwrap();
        let mut content = String::with_capacity(bytes + 64);
        while content.len() < bytes {
            content.push_str(&format!("key-{}: value {:x}\n", number, random() & 0xffff_ffff));
        }
        std::fs::write(parent.join(format!("file-{number}.yaml")), content).unwrap();
    }
}

fn row(what: &str, rounds: &Rounds, unit: &str, remark: &str) {
    println!(
        "{what:<46} {:>9.1} {unit} {:>9.1} {unit}   {remark}",
        rounds.best(),
        rounds.worst()
    );
}

fn compare(rounds: &[Rounds], word: &str) {
    if let [ours, theirs] = rounds {
        println!("{:<74}{:.1} x {word}", "", theirs.best() / ours.best());
    }
}
