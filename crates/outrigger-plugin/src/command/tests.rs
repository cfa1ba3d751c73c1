use std::time::Duration;

use super::*;

struct Bench {
    env: Environment,
    dir: tempfile::TempDir,
    limits: CommandLimits,
    deadline: Option<Duration>,
    groups: Vec<Group>,
}

impl Bench {
    fn new() -> Self {
        Self {
            env: Environment::of_this_process(),
            dir: tempfile::tempdir().unwrap(),
            limits: CommandLimits::default(),
            deadline: None,
            groups: Vec::new(),
        }
    }

    async fn argv(&mut self, argv: &[&str]) -> Result<Output, CommandError> {
        let invocation = Invocation {
            phase: Phase::Generate,
            argv: argv.to_vec(),
            dir: self.dir.path(),
            env: &self.env,
            deadline: self.deadline.map(|deadline| Instant::now() + deadline),
            limits: self.limits,
        };
        run(&invocation, &mut self.groups).await
    }

    async fn sh(&mut self, script: &str) -> Result<Output, CommandError> {
        self.argv(&["sh", "-c", script]).await
    }

    async fn end(self) {
        for group in self.groups {
            group.end().await;
        }
    }
}

/// Whether a process runs (a zombie does not).
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

async fn until_gone(pid: &str) {
    for _ in 0..500 {
        if !runs(pid) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("process {pid} still runs");
}

#[tokio::test]
async fn output_environment_and_directory_are_as_given() {
    let mut bench = Bench::new();
    bench.env = bench.env.with([("GREETING", "ahoy"), ("EMPTY", "")]);
    let output = bench.sh(r#"echo "$GREETING ${EMPTY-unset} $(pwd)"; echo note >&2; cat"#).await.unwrap();
    let expected = format!("ahoy  {}\n", bench.dir.path().canonicalize().unwrap().display());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    assert_eq!(output.stderr, "note\n");
    bench.end().await;
}

#[tokio::test]
async fn a_failure_begins_with_what_the_tool_said() {
    let mut bench = Bench::new();
    bench.deadline = Some(Duration::from_secs(60));
    let error = bench.sh("echo one >&2; echo two >&2; exit 3").await.unwrap_err().to_string();
    assert!(error.starts_with("one\ntwo\n(generate: `sh -c \"echo one"), "{error}");
    assert!(error.contains("exited with status 3 after "), "{error}");
    assert!(error.ends_with("s of 60.0s allowed)"), "{error}");
    bench.end().await;
}

#[tokio::test]
async fn a_signal_is_named() {
    let mut bench = Bench::new();
    let error = bench.sh("kill -SEGV $$").await.unwrap_err().to_string();
    assert!(error.contains("was killed by SIGSEGV"), "{error}");
    bench.end().await;
}

#[tokio::test]
async fn a_timed_out_command_is_gone_with_everything_it_started() {
    let mut bench = Bench::new();
    bench.limits.timeout = Some(Duration::from_millis(300));
    let script = "sleep 600 & echo $! > child; echo patience >&2; trap '' TERM; sleep 600";
    let error = bench.sh(script).await.unwrap_err();
    assert!(error.is_timeout());
    let text = error.to_string();
    assert!(text.starts_with("patience\n"), "{text}");
    assert!(
        text.contains("did not end in time") && text.contains("ARGOCD_EXEC_TIMEOUT allowed 300ms"),
        "{text}"
    );
    let child = std::fs::read_to_string(bench.dir.path().join("child")).unwrap();
    until_gone(&child).await;
    bench.end().await;
}

#[tokio::test]
async fn with_a_fatal_timeout_the_command_may_tidy_up_first() {
    let mut bench = Bench::new();
    bench.limits.timeout = Some(Duration::from_millis(200));
    bench.limits.fatal_timeout = Some(Duration::from_secs(20));
    let started = Instant::now();
    let error = bench
        .sh("trap 'echo tidy > tidied; exit 1' TERM; while true; do sleep 0.05; done")
        .await
        .unwrap_err();
    assert!(error.is_timeout());
    assert!(bench.dir.path().join("tidied").exists());
    assert!(started.elapsed() < Duration::from_secs(15), "it was not waited for in vain");
    bench.end().await;
}

#[tokio::test]
async fn output_that_somebody_keeps_open_is_explained() {
    let mut bench = Bench::new();
    bench.deadline = Some(Duration::from_millis(400));
    let error = bench.sh("sleep 600 & exit 0").await.unwrap_err().to_string();
    assert!(error.contains("exited while something it started kept its output open"), "{error}");
    bench.end().await;
}

#[tokio::test]
async fn too_much_output_is_cut_off() {
    let mut bench = Bench::new();
    bench.limits.output_bytes = 1000;
    let error = bench.sh("head -c 3000 /dev/zero; sleep 600").await.unwrap_err().to_string();
    assert!(error.contains("more than 1000 bytes"), "{error}");
    bench.end().await;
}

#[tokio::test]
async fn a_helper_lives_until_the_group_ends_and_no_longer() {
    let mut bench = Bench::new();
    let output = bench.sh("sleep 600 >/dev/null 2>&1 & echo $!").await.unwrap();
    let helper = String::from_utf8(output.stdout).unwrap();
    bench.sh("true").await.unwrap();
    assert!(runs(&helper), "the helper of an earlier command is still there");
    bench.end().await;
    until_gone(&helper).await;
}

#[tokio::test]
async fn a_dropped_command_is_killed() {
    let mut bench = Bench::new();
    let abandoned = tokio::time::timeout(Duration::from_millis(300), bench.sh("echo $$ > leader; sleep 600"));
    assert!(abandoned.await.is_err());
    let leader = std::fs::read_to_string(bench.dir.path().join("leader")).unwrap();
    assert!(runs(&leader), "the group belongs to the render, not to the future");
    drop(std::mem::take(&mut bench.groups));
    until_gone(&leader).await;
}

#[tokio::test]
async fn what_cannot_be_run_is_named_with_where_it_was_looked_for() {
    let mut bench = Bench::new();
    let error = bench.argv(&["no-such-tool", "x"]).await.unwrap_err().to_string();
    assert!(error.contains("cannot run `no-such-tool x`") && error.contains("not in PATH"), "{error}");
    let error = bench.argv(&["./missing.sh"]).await.unwrap_err().to_string();
    assert!(error.contains("No such file"), "{error}");
    std::fs::write(bench.dir.path().join("plain"), "x").unwrap();
    let error = bench.argv(&["./plain"]).await.unwrap_err().to_string();
    assert!(error.contains("Permission denied"), "{error}");
}

#[tokio::test]
async fn a_program_with_a_slash_is_relative_to_the_directory() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut bench = Bench::new();
    let script = bench.dir.path().join("tool.sh");
    std::fs::write(&script, "#!/bin/sh\necho ran $1\n").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = bench.argv(&["./tool.sh", "well"]).await.unwrap();
    assert_eq!(output.stdout, b"ran well\n");
    bench.end().await;
}

#[tokio::test]
async fn an_environment_beyond_the_kernels_bounds_names_its_longest_variable() {
    let mut bench = Bench::new();
    let value = "x".repeat(100_000);
    let names: Vec<String> = (0..100).map(|number| format!("VARIABLE_{number}")).collect();
    let mut long: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), value.as_str())).collect();
    let longest = "y".repeat(120_000);
    long.push(("LONGEST", &longest));
    bench.env = bench.env.with(long);
    let error = bench.sh("true").await.unwrap_err().to_string();
    assert!(error.contains("the longest variable is LONGEST with 120000 bytes"), "{error}");
}

#[test]
fn a_long_command_line_is_shortened_and_quoted() {
    assert_eq!(shorten(&["sh", "-c", "echo a  b", ""]), r#"sh -c "echo a  b" """#);
    let long = shorten(&["x", &"y".repeat(500)]);
    assert!(long.ends_with('…') && long.chars().count() == 121);
}
