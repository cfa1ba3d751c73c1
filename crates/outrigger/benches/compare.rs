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
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run());
}

/// One of the servers to compare.
struct Contender {
    name: &'static str,
    binary: PathBuf,
}

fn contenders() -> Vec<Contender> {
    let target =
        Path::new(support::BINARY).ancestors().find(|dir| dir.ends_with("target")).map(Path::to_owned);
    let target = target.unwrap_or_else(|| PathBuf::from("target"));
    let dist = target.join("dist/outrigger");
    let binary = if dist.is_file() { dist } else { PathBuf::from(support::BINARY) };
    let mut contenders = vec![Contender { name: "outrigger", binary }];
    let go =
        std::env::var_os("OUTRIGGER_BENCH_ARGOCD").map_or_else(|| target.join("peers/argocd"), PathBuf::from);
    if go.is_file() {
        contenders.push(Contender { name: "argocd-cmp-server", binary: go });
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
            assert!(started.elapsed() < Duration::from_secs(20), "{} does not start", self.name);
            std::thread::sleep(Duration::from_micros(200));
        }
        Running { process, place, socket, started_in: started.elapsed() }
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
    fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
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
    // Cargo adds flags of its own; what is left chooses sections.
    let chosen: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |section: &str| chosen.is_empty() || chosen.iter().any(|name| name == section);
    let contenders = contenders();
    let place = tempfile::tempdir().unwrap();
    println!("in {}; choose sections by name: files, crowd, memory, start", std::env::temp_dir().display());
    println!("{:<46} {:>12} {:>12}   ratios", "", "best", "worst");
    if wanted("files") {
        many_files(&contenders, place.path()).await;
    }
    if wanted("crowd") {
        crowds(&contenders, place.path()).await;
    }
    if wanted("memory") {
        large_tree(&contenders, place.path()).await;
    }
    if wanted("start") {
        idle(&contenders);
    }
}

/// Three thousand files: every contender and GNU tar in turns.
async fn many_files(contenders: &[Contender], place: &Path) {
    let dir = place.join("large");
    lay_out(&dir, 3000, 4400);
    let messages = support::messages(&dir, ".", &[]).await;
    let archive = place.join("large.tgz");
    let file = std::fs::File::create(&archive).unwrap();
    outrigger_source::pack::pack(&dir, &outrigger_source::pack::Options::default(), file).unwrap();
    for (what, spec, question) in [
        ("generate, 3000 files", GENERATE, Question::Generate),
        ("match by glob, 3000 files", BY_GLOB, Question::Match),
        ("match by fileName, 3000 files", BY_NAME, Question::Match),
    ] {
        let mut tar = Rounds::default();
        let rounds = in_turns(contenders, spec, &messages, question, || tar.0.push(gnu_tar(&archive))).await;
        row("GNU tar x + rm of the same archive", tar.least(), tar.most(), "ms", "");
        for (contender, times) in contenders.iter().zip(&rounds) {
            let to_tar = format!("{:.2} x tar+rm", times.least() / tar.least());
            row(&format!("{what}: {}", contender.name), times.least(), times.most(), "ms", &to_tar);
        }
        compare(&rounds, "as fast");
    }
}

async fn crowds(contenders: &[Contender], place: &Path) {
    let dir = place.join("tiny");
    std::fs::create_dir(&dir).unwrap();
    std::fs::write(dir.join("first.yaml"), "kind: ConfigMap\n").unwrap();
    std::fs::write(dir.join("second.yaml"), "kind: Secret\n").unwrap();
    let messages = support::messages(&dir, ".", &[]).await;
    for (what, spec, question) in [
        ("generate, tiny, 64 at once", GENERATE, Question::Generate),
        ("match, tiny, 64 at once", BY_NAME, Question::Match),
    ] {
        let servers: Vec<Running> = contenders.iter().map(|contender| contender.start(spec)).collect();
        let mut rates: Vec<Rounds> = contenders.iter().map(|_| Rounds::default()).collect();
        for _ in 0..ROUNDS {
            for (server, rates) in servers.iter().zip(&mut rates) {
                rates.0.push(crowd(&server.socket, &messages, question).await);
                server.settle();
            }
        }
        for (contender, rates) in contenders.iter().zip(&rates) {
            row(&format!("{what}: {}", contender.name), rates.most(), rates.least(), "/s", "");
        }
        if let [ours, theirs] = &rates[..] {
            println!("{:<76}{:.1} x the rate", "", ours.most() / theirs.most());
        }
    }
}

/// Every contender in every round, one after the other; milliseconds.
async fn in_turns(
    contenders: &[Contender],
    spec: &str,
    messages: &[AppStreamRequest],
    question: Question,
    mut beside: impl FnMut(),
) -> Vec<Rounds> {
    let servers: Vec<Running> = contenders.iter().map(|contender| contender.start(spec)).collect();
    let mut rounds: Vec<Rounds> = contenders.iter().map(|_| Rounds::default()).collect();
    for round in 0..=ROUNDS {
        beside();
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
            let reply = client.generate_manifest(request(messages, MINUTE)).await.unwrap().into_inner();
            assert_eq!(reply.manifests.len(), 1);
        }
        Question::Match => {
            let reply = client.match_repository(request(messages, MINUTE)).await.unwrap().into_inner();
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
        ask(&mut client(&server.socket).await, messages.clone(), Question::Generate).await;
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
            starts.least()
        );
    }
}

/// An archive through GNU tar and rm; milliseconds.
fn gnu_tar(archive: &Path) -> f64 {
    let out = tempfile::Builder::new().prefix("orb-").tempdir().unwrap();
    let out = out.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let started = Instant::now();
    let unpacked = Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(&out).status().unwrap();
    let removed = Command::new("rm").arg("-rf").arg(&out).status().unwrap();
    assert!(unpacked.success() && removed.success());
    started.elapsed().as_secs_f64() * 1e3
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

fn row(what: &str, best: f64, worst: f64, unit: &str, remark: &str) {
    println!("{what:<46} {best:>9.1} {unit} {worst:>9.1} {unit}   {remark}");
}

fn compare(rounds: &[Rounds], word: &str) {
    if let [ours, theirs] = rounds {
        println!("{:<76}{:.1} x {word}", "", theirs.least() / ours.least());
    }
}
