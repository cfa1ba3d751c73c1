//! The author's tools as a person runs them: the real binary, its output and its exit code.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use support::*;

fn outrigger(dir: &Path, args: &[&str]) -> Output {
    Command::new(BINARY).args(args).current_dir(dir).output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A repository with a plugin.yaml beside its applications.
fn repository(spec: &str) -> tempfile::TempDir {
    let yaml = plugin_yaml(spec);
    tree(&[
        ("plugin.yaml", &yaml),
        ("apps/web/a.yaml", "kind: A\nname: @NAME@\n"),
        ("apps/api/Chart.yaml", ""),
    ])
}

const FILL_IN: &str = r#"sed s/@NAME@/$ARGOCD_APP_NAME-$ARGOCD_ENV_STAGE-$PARAM_SIZE/ a.yaml"#;

#[test]
fn demo_renders_over_the_wire_shows_phases_and_says_what_to_try_next() {
    let output = outrigger(Path::new("/"), &["demo"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).contains("kind: Deployment") && stdout(&output).contains("ahoy from hello"));
    let said = stderr(&output);
    for text in ["GenerateManifest", "2 manifests", "unpack", "generate", "Try next:"] {
        assert!(said.contains(text), "{text} in\n{said}");
    }
}

#[test]
fn demo_stays_up_until_it_is_told_to_stop_and_then_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let mut demo = Command::new(BINARY)
        .args(["demo", "--stay"])
        .env("TMPDIR", place.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufReader::new(demo.stderr.take().unwrap());
    let mut address = String::new();
    let mut line = String::new();
    while !line.contains("Ctrl-C") {
        line.clear();
        assert_ne!(std::io::BufRead::read_line(&mut said, &mut line).unwrap(), 0, "it ended by itself");
        if let Some((_, found)) = line.split_once("outrigger healthcheck ") {
            address = found.trim().to_owned();
        }
    }
    assert!(outrigger(place.path(), &["healthcheck", &address]).status.success());
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(demo.id()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert!(demo.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn render_prints_yaml_on_stdout_and_phases_on_stderr_and_leaves_the_directory_alone() {
    let repo = repository(&format!("init: {{command: [touch, written]}}\n{}", generate(FILL_IN)));
    let args = [
        "render",
        ".",
        "--app-path",
        "apps/web",
        "--env",
        "STAGE=prod",
        "--param",
        "size=xl",
        "--app-name",
        "shop",
    ];
    let output = outrigger(repo.path(), &args);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "---\nkind: A\nname: shop-prod-xl\n");
    for text in ["plugin: plugin.yaml", "unpack", "generate", "total", "1 manifest"] {
        assert!(stderr(&output).contains(text), "{text} in\n{}", stderr(&output));
    }
    assert!(!repo.path().join("apps/web/written").exists());
}

#[test]
fn render_prints_json_as_argo_cd_gets_it() {
    let repo = repository(&generate("echo 'kind: A'; echo ---; echo 'b: <1>'"));
    let output = outrigger(repo.path(), &["render", ".", "--app-path", "apps/web", "-o", "json"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output).lines().count(), 2);
    assert!(stdout(&output).ends_with("{\"b\":\"\\u003c1\\u003e\"}\n"), "{}", stdout(&output));
}

#[test]
fn render_fails_with_the_tools_words() {
    let repo = repository(&generate("echo chart is broken >&2; exit 7"));
    let output = outrigger(repo.path(), &["render", ".", "--app-path", "apps/web"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output), "");
    assert!(stderr(&output).contains("error: chart is broken\n(generate: `sh -c"), "{}", stderr(&output));
}

#[test]
fn render_says_what_is_missing() {
    let empty = tempfile::tempdir().unwrap();
    let output = outrigger(empty.path(), &["render", "."]);
    assert!(
        stderr(&output).contains("no plugin.yaml found") && stderr(&output).contains("--plugin"),
        "{}",
        stderr(&output)
    );
    let repo = repository(&generate("true"));
    let output = outrigger(repo.path(), &["render", ".", "--app-path", "nowhere"]);
    assert!(stderr(&output).contains("--app-path"), "{}", stderr(&output));
    let output = outrigger(repo.path(), &["render", ".", "--address", "unix:/nonexistent.sock"]);
    assert!(stderr(&output).contains("is it running?"), "{}", stderr(&output));
    let output = outrigger(repo.path(), &["render", ".", "--env", "nonsense"]);
    assert!(stderr(&output).contains("NAME=VALUE"), "{}", stderr(&output));
}

#[test]
fn a_render_that_is_told_to_stop_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let repo = repository(&generate("echo $$ > $MARK; sleep 600"));
    let mark = place.path().join("mark");
    let work = place.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let mut render = Command::new(BINARY)
        .args(["render", "."])
        .current_dir(repo.path())
        .env("MARK", &mark)
        .env("ARGOCD_CMP_WORKDIR", &work)
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let started = std::time::Instant::now();
    while std::fs::read_to_string(&mark).unwrap_or_default().is_empty() {
        assert!(started.elapsed() < std::time::Duration::from_secs(20));
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(render.id()).unwrap()),
        nix::sys::signal::Signal::SIGTERM,
    )
    .unwrap();
    assert_eq!(render.wait().unwrap().code(), Some(1));
    let pid = std::fs::read_to_string(&mark).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
    assert_eq!(std::fs::read_dir(&work).unwrap().count(), 0);
}

#[test]
fn an_empty_application_is_warned_about() {
    let repo = repository(&generate("true"));
    let output = outrigger(repo.path(), &["render", "."]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("prune"), "{}", stderr(&output));
}

#[test]
fn a_running_server_can_be_asked_instead() {
    let server = Setup::new(&format!(
        "{}discover: {{fileName: a.yaml}}\nparameters: {{static: [{{name: p}}]}}\n",
        generate(FILL_IN)
    ))
    .start();
    let address = format!("unix:{}", server.socket.display());
    let repo = tree(&[("a.yaml", "name: @NAME@\n")]);
    let ask = |command: &str, more: &[&str]| {
        outrigger(repo.path(), &[&[command, ".", "--address", &address, "--app-name", "x"], more].concat())
    };
    let output = ask("render", &["--env", "STAGE=s"]);
    assert_eq!(stdout(&output), "---\nname: \"x-s-\"\n".replace("\"x-s-\"", "x-s-"), "{}", stderr(&output));
    assert!(stderr(&output).contains("unpack"), "the server's phases: {}", stderr(&output));
    assert_eq!(stdout(&ask("match", &[])), "match\n");
    assert!(stdout(&ask("params", &[])).contains("p "));
}

#[test]
fn a_long_error_arrives_whole_from_a_server() {
    let server = Server::start(&generate(
        "i=0; while [ $i -lt 3000 ]; do echo \"größer als erlaubt $i\" >&2; i=$((i+1)); done; exit 1",
    ));
    let repo = tree(&[("a", "")]);
    let output =
        outrigger(repo.path(), &["render", ".", "--address", &format!("unix:{}", server.socket.display())]);
    let said = stderr(&output);
    assert!(
        said.contains("[…]") && said.contains("größer als erlaubt 2999\n(generate: "),
        "{}",
        &said[said.len().saturating_sub(300)..]
    );
}

#[test]
fn match_answers_with_its_exit_code() {
    let repo = repository(&format!("{}discover: {{fileName: Chart.yaml}}\n", generate("true")));
    let yes = outrigger(repo.path(), &["match", ".", "--app-path", "apps/api"]);
    assert_eq!((stdout(&yes).as_str(), yes.status.code()), ("match\n", Some(0)));
    let no = outrigger(repo.path(), &["match", ".", "--app-path", "apps/web"]);
    assert_eq!((stdout(&no).as_str(), no.status.code()), ("no match\n", Some(1)));
    let repo = repository(&format!("{}discover: {{fileName: '[a'}}\n", generate("true")));
    let error = outrigger(repo.path(), &["match", "."]);
    assert_eq!(error.status.code(), Some(2));
    assert!(stderr(&error).contains("syntax error in pattern"));
}

#[test]
fn params_are_a_table_or_json() {
    let spec = format!(
        "{}parameters:\n  static:\n    - {{name: values, title: Values, collectionType: array, array: [a, b], required: true}}\n",
        generate("true")
    );
    let repo = repository(&spec);
    let table = stdout(&outrigger(repo.path(), &["params", "."]));
    assert!(
        table.contains("NAME") && table.contains("values") && table.contains("a, b") && table.contains("yes"),
        "{table}"
    );
    let json = stdout(&outrigger(repo.path(), &["params", ".", "-o", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["array"], serde_json::json!(["a", "b"]));
}

#[test]
fn lint_names_place_rule_and_remedy() {
    let dir = tree(&[(
        "plugin.yaml",
        "apiVersion: argoproj.io/v1alpha1\nkind: ConfigManagementPlugin\nmetadata: {name: x}\nspec:\n  lockRepo: true\n  version: 1.10\n  generate: {command: [a]}\n",
    )]);
    let output = outrigger(dir.path(), &["lint"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stdout(&output).contains("plugin.yaml:5:3: warning["), "{}", stdout(&output));
    assert!(stdout(&output).contains("plugin.yaml:6:12: error["), "{}", stdout(&output));
    assert!(stdout(&output).contains("hint: "), "{}", stdout(&output));
    assert!(stderr(&output).contains("1 error, 1 warning"), "{}", stderr(&output));
    let json: serde_json::Value =
        serde_json::from_str(&stdout(&outrigger(dir.path(), &["lint", "-o", "json"]))).unwrap();
    assert_eq!(json[0]["line"], 5);
}

#[test]
fn lint_passes_what_is_fine_and_is_stricter_when_asked() {
    let fine = plugin_yaml(&generate("true"));
    let legacy = plugin_yaml(&format!("lockRepo: true\n{}", generate("true")));
    let dir = tree(&[("fine.yaml", &fine), ("legacy.yaml", &legacy)]);
    assert!(outrigger(dir.path(), &["lint", "fine.yaml", "legacy.yaml"]).status.success());
    assert!(!outrigger(dir.path(), &["lint", "--strict", "legacy.yaml"]).status.success());
    let missing = outrigger(dir.path(), &["lint", "missing.yaml"]);
    assert!(stderr(&missing).contains("cannot read missing.yaml"));
}

#[test]
fn schema_completions_and_man_pages_are_printed() {
    let dir = tempfile::tempdir().unwrap();
    let schema: serde_json::Value =
        serde_json::from_str(&stdout(&outrigger(dir.path(), &["schema"]))).unwrap();
    assert!(schema["properties"]["spec"].is_object(), "{schema}");
    assert!(stdout(&outrigger(dir.path(), &["completions", "bash"])).contains("healthcheck"));
    assert!(outrigger(dir.path(), &["man", "pages"]).status.success());
    let pages: Vec<_> =
        std::fs::read_dir(dir.path().join("pages")).unwrap().map(|page| page.unwrap().file_name()).collect();
    assert!(pages.contains(&"outrigger-serve.1".into()), "{pages:?}");
}

#[test]
fn every_flag_of_ours_has_its_environment_variable() {
    let help = stdout(&outrigger(Path::new("/"), &["serve", "--help"]));
    let flags: Vec<&str> =
        help.split_whitespace().filter(|word| word.starts_with("--") && word.len() > 2).collect();
    assert!(flags.len() > 10, "{help}");
    for flag in flags {
        let name =
            flag.trim_start_matches("--").trim_end_matches(['[', ']', ',']).split(['=', '[']).next().unwrap();
        let variable = name.to_uppercase().replace('-', "_");
        let upstream = ["config-dir-path", "help"].contains(&name);
        assert!(
            upstream
                || help.contains(&format!("OUTRIGGER_{variable}"))
                || help.contains(&format!("ARGOCD_CMP_SERVER_{variable}")),
            "{flag}"
        );
    }
}

#[test]
fn an_empty_variable_counts_as_not_set_and_a_wrong_one_is_explained() {
    let serve = |name: &str, value: &str| {
        let setup = Setup::new(&generate("true")).env(name, value);
        setup.env("ARGOCD_PLUGINSOCKFILEPATH", "/nonexistent").run()
    };
    for name in [
        "OUTRIGGER_LISTEN",
        "OUTRIGGER_HTTP",
        "OUTRIGGER_MAX_SOURCE_BYTES",
        "ARGOCD_CMP_SERVER_LOGLEVEL",
        "ARGOCD_EXEC_TIMEOUT",
    ] {
        // It gets as far as the socket, which cannot be made.
        let (_, log) = serve(name, "");
        assert!(log.contains("cannot listen on unix:"), "{name}: {log}");
    }
    for (name, value, wanted) in [
        ("OUTRIGGER_MAX_SOURCE_BYTES", "many", "write it like 500M"),
        ("OUTRIGGER_LISTEN", "9090", "unix:PATH"),
    ] {
        let (status, log) = serve(name, value);
        assert!(!status.success() && log.contains(wanted), "{name}={value}: {log}");
    }
    // Argo CD's server takes any value of this one: so do we, and say what is wrong with it.
    let (_, log) = serve("ARGOCD_EXEC_TIMEOUT", "90");
    assert!(
        log.contains("ARGOCD_EXEC_TIMEOUT is ignored") && log.contains("cannot listen on unix:"),
        "{log}"
    );
}

#[test]
fn under_upstreams_name_upstreams_flags_are_taken_and_words_are_our_commands() {
    let server = Setup::new(&generate("true"))
        .arg("--logformat=text")
        .arg("--loglevel")
        .arg("debug")
        .arg("--otlp-insecure=false")
        .start();
    assert!(server.log().starts_with("time=\""));
    use std::os::unix::process::CommandExt as _;
    let status = Command::new(BINARY)
        .arg0("argocd-cmp-server")
        .args(["healthcheck", "--config-dir-path"])
        .arg(server.place.path().join("config"))
        .env("ARGOCD_PLUGINSOCKFILEPATH", server.place.path().join("plugins"))
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn healthcheck_fails_where_nobody_serves() {
    let output = outrigger(Path::new("/"), &["healthcheck", "unix:/nonexistent.sock"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("cannot reach unix:/nonexistent.sock: No such file"),
        "{}",
        stderr(&output)
    );
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let output = outrigger(Path::new("/"), &["healthcheck", &address, "--timeout", "300ms"]);
    assert!(!output.status.success());
    assert!(stderr(&output).contains("did not answer within"), "{}", stderr(&output));
}
