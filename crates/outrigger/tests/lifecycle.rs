//! Start, configuration changes and the end of the server.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::Signal;
use support::*;

/// One page of the HTTP side: status code and body.
fn get(address: &str, path: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let (head, body) = reply.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn manifest(server: &Server) -> String {
    let repo = tree(&[("a", "")]);
    render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap().remove(0)
}

type Reply = Result<tonic::Response<outrigger_wire::plugin::ManifestResponse>, tonic::Status>;

/// Begins a render and leaves it running.
async fn begin(server: &Server, env: &[(&str, &str)]) -> tokio::task::JoinHandle<Reply> {
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", env).await;
    let mut client = server.client().await;
    tokio::spawn(async move { client.generate_manifest(request(messages, MINUTE)).await })
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_unlinks_the_socket_finishes_what_runs_and_exits_zero() {
    let mut server = Server::start(&generate("sleep 1; echo 'a: 1'"));
    let running = begin(&server, &[]).await;
    server.wait_until("the command runs", |server| !server.children().is_empty());
    server.signal(Signal::SIGTERM);
    server.wait_until("the socket is gone", |server| !server.socket.exists());
    let reply = running.await.unwrap().unwrap();
    assert_eq!(reply.into_inner().manifests, [r#"{"a":1}"#]);
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
    assert_eq!(server.trees().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_sigterm_changes_nothing() {
    let mut server = Server::start(&generate("sleep 2; echo 'a: 1'"));
    let running = begin(&server, &[]).await;
    server.wait_until("the command runs", |server| !server.children().is_empty());
    server.signal(Signal::SIGTERM);
    server.wait_until("the socket is gone", |server| !server.socket.exists());
    server.signal(Signal::SIGTERM);
    running.await.unwrap().unwrap();
    assert!(server.process.wait().unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_render_that_outlives_the_grace_period_is_ended_with_its_processes() {
    let mark = tempfile::tempdir().unwrap();
    let pid_file = mark.path().join("pid");
    let spec = generate(&format!("echo $$ > {}; sleep 600", pid_file.display()));
    let mut server = Setup::new(&spec).arg("--grace-period").arg("300ms").start();
    let running = begin(&server, &[]).await;
    server.wait_until("the command runs", |_| pid_file.metadata().is_ok_and(|file| file.len() > 0));
    server.signal(Signal::SIGTERM);
    assert_eq!(server.process.wait().unwrap().code(), Some(0));
    assert!(running.await.unwrap().is_err());
    let pid = std::fs::read_to_string(pid_file).unwrap();
    assert!(!Path::new("/proc").join(pid.trim()).exists());
    assert_eq!(server.trees().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_is_in_the_backlog_when_the_server_stops_is_still_served() {
    let server = Server::start(&generate("echo 'a: 1'"));
    // Stopped, the process accepts nobody: these wait in the backlog as they would behind a slow accept.
    server.signal(Signal::SIGSTOP);
    let mut waiting: Vec<UnixStream> =
        (0..20).map(|_| UnixStream::connect(&server.socket).unwrap()).collect();
    server.signal(Signal::SIGTERM);
    server.signal(Signal::SIGCONT);
    for stream in &mut waiting {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0").unwrap();
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[3], 4, "the first frame is SETTINGS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn health_says_not_serving_while_the_server_stops() {
    let server = Server::start(&generate("sleep 2; echo 'a: 1'"));
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", &[]).await;
    let socket = server.socket.clone();
    let connector = tower::service_fn(move |_: tonic::transport::Uri| {
        let socket = socket.clone();
        async move { tokio::net::UnixStream::connect(socket).await.map(hyper_util::rt::TokioIo::new) }
    });
    let channel = tonic::transport::Endpoint::from_static("http://localhost")
        .connect_with_connector(connector)
        .await
        .unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    let mut plugin = PluginClient::new(channel);
    let ask = tonic_health::pb::HealthCheckRequest::default;
    assert_eq!(health.check(ask()).await.unwrap().into_inner().status, 1);
    let running = tokio::spawn(async move { plugin.generate_manifest(request(messages, MINUTE)).await });
    server.wait_until("the command runs", |server| !server.children().is_empty());
    server.signal(Signal::SIGTERM);
    server.wait_until("the socket is gone", |server| !server.socket.exists());
    assert_eq!(health.check(ask()).await.unwrap().into_inner().status, 2);
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_takes_the_socket_over_and_keeps_it_when_the_first_ends() {
    let mut first = Server::start(&generate("echo 'a: 1'"));
    let second = Setup::new(&generate("echo 'a: 2'"))
        .env("ARGOCD_PLUGINSOCKFILEPATH", first.socket.parent().unwrap().to_str().unwrap());
    // It listens in the first one's directory.
    let inode = std::os::unix::fs::MetadataExt::ino(&std::fs::metadata(&first.socket).unwrap());
    let second = {
        let mut second = second.start_elsewhere();
        second.socket.clone_from(&first.socket);
        second
    };
    second.wait_until("it took over", |server| {
        std::fs::metadata(&server.socket)
            .is_ok_and(|file| std::os::unix::fs::MetadataExt::ino(&file) != inode)
    });
    first.signal(Signal::SIGTERM);
    first.process.wait().unwrap();
    assert_eq!(manifest(&second).await, r#"{"a":2}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_listens_on_tcp_by_flag_and_by_plugin_yaml_beside_its_socket() {
    let by_file = Setup::new(&format!("listenAddress: 127.0.0.1:0\n{}", generate("echo 'a: 1'"))).start();
    let by_flag = Setup::new(&generate("echo 'a: 1'")).arg("--listen=localhost:0").start();
    for server in [by_file, by_flag] {
        let address = server.address("serving plugin tested on 127.0.0.1:");
        let output = std::process::Command::new(BINARY)
            .args(["healthcheck", &format!("localhost:{address}")])
            .output();
        assert!(output.unwrap().status.success());
        assert_eq!(manifest(&server).await, r#"{"a":1}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listen_address_that_is_taken_leaves_everything_as_it_was() {
    let server = Server::start(&generate("echo 'a: 1'"));
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let spec = format!("version: v2\nlistenAddress: {address}\n{}", generate("echo 'a: 2'"));
    std::fs::write(server.place.path().join("config/plugin.yaml"), plugin_yaml(&spec)).unwrap();
    server.wait_until("it is refused", |server| server.log().contains("last good one stays"));
    assert_eq!(manifest(&server).await, r#"{"a":1}"#);
    assert!(!server.socket.with_file_name("tested-v2.sock").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_in_the_backlog_is_left_without_an_answer_even_without_a_grace_period() {
    let server = Setup::new(&generate("true")).arg("--grace-period=0s").start();
    server.signal(Signal::SIGSTOP);
    let mut waiting: Vec<UnixStream> =
        (0..100).map(|_| UnixStream::connect(&server.socket).unwrap()).collect();
    server.signal(Signal::SIGTERM);
    server.signal(Signal::SIGCONT);
    for stream in &mut waiting {
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        assert_eq!(head[3], 4, "the first frame is SETTINGS");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_whose_caller_goes_away_is_logged_and_counted() {
    let server = Setup::new(&generate("sleep 600")).arg("--http=127.0.0.1:0").start();
    let call = begin(&server, &[("ARGOCD_APP_NAME", "guestbook")]).await;
    server.wait_until("the command runs", |server| !server.children().is_empty());
    call.abort();
    server.wait_until("it is logged", |server| server.log().contains(r#""grpc.code":"Canceled""#));
    let (_, metrics) = get(&server.address("/readyz on "), "/metrics");
    assert!(
        metrics.contains(r#"outrigger_calls_total{method="generate",outcome="cancelled"} 1"#),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_plugins_directory_tcp_is_enough() {
    let setup = Setup::new(&generate("true"))
        .env("ARGOCD_PLUGINSOCKFILEPATH", "/nonexistent")
        .arg("--listen=127.0.0.1:0");
    let server = setup.start_elsewhere();
    server.wait_until("it serves", |server| server.log().contains("on 127.0.0.1:"));
    let (status, log) = Setup::new(&generate("true")).env("ARGOCD_PLUGINSOCKFILEPATH", "/nonexistent").run();
    assert_eq!(status.code(), Some(20), "as upstream");
    assert!(log.contains("ARGOCD_PLUGINSOCKFILEPATH") && log.contains("--listen"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_and_probes_are_served_where_asked_for() {
    let server = Setup::new(&generate("echo 'a: 1'")).arg("--http=:0").start();
    manifest(&server).await;
    let address = server.address("/readyz on ");
    assert_eq!(get(&address, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(&address, "/readyz"), (200, "ok\n".to_owned()));
    let (_, metrics) = get(&address, "/metrics");
    for line in [
        r#"outrigger_calls_total{method="generate",outcome="ok"} 1"#,
        r#"outrigger_phase_seconds_count{method="generate",phase="generate"} 1"#,
        r#"outrigger_phase_seconds_count{method="generate",phase="unpack"} 1"#,
        "outrigger_in_flight 0",
        "outrigger_queued 0",
        "outrigger_config_broken 0",
        r#"outrigger_plugin_info{plugin="tested""#,
        "# EOF",
    ] {
        assert!(metrics.contains(line), "{line} in\n{metrics}");
    }
    assert!(
        metrics.contains("outrigger_received_bytes_total")
            && !metrics.contains("outrigger_received_bytes_total 0")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_15006_a_changed_plugin_yaml_is_used_without_a_restart_also_behind_swapped_links() {
    let setup = Setup::new(&generate("echo 'a: 1'")).arg("--http=127.0.0.1:0");
    // As the kubelet mounts a ConfigMap: plugin.yaml -> ..data/plugin.yaml, ..data -> ..v1
    let config = setup.place.path().join("config");
    std::fs::create_dir(config.join("..v1")).unwrap();
    std::fs::rename(config.join("plugin.yaml"), config.join("..v1/plugin.yaml")).unwrap();
    std::os::unix::fs::symlink("..v1", config.join("..data")).unwrap();
    std::os::unix::fs::symlink("..data/plugin.yaml", config.join("plugin.yaml")).unwrap();
    let server = setup.start();
    let swap = |version: &str, content: &str| {
        std::fs::create_dir(config.join(version)).unwrap();
        std::fs::write(config.join(version).join("plugin.yaml"), content).unwrap();
        std::os::unix::fs::symlink(version, config.join("..tmp")).unwrap();
        std::fs::rename(config.join("..tmp"), config.join("..data")).unwrap();
    };
    assert_eq!(manifest(&server).await, r#"{"a":1}"#);
    swap("..v2", &plugin_yaml(&generate("echo 'a: 2'")));
    server.wait_until("the new one is used", |server| server.log().contains("is in use"));
    assert_eq!(manifest(&server).await, r#"{"a":2}"#);

    swap("..v3", "kind: ConfigManagementPlugin\nmetadata: {name: tested}\nspec: {generate: {command: 5}}\n");
    server.wait_until("the broken one is refused", |server| server.log().contains("last good one stays"));
    assert_eq!(manifest(&server).await, r#"{"a":2}"#);
    let address = server.address("/readyz on ");
    let (code, page) = get(&address, "/readyz");
    assert!(code == 200 && page.contains("last good plugin.yaml"), "{page}");
    assert!(get(&address, "/metrics").1.contains("outrigger_config_broken 1"));

    swap("..v4", &plugin_yaml(&generate("echo 'a: 4'")));
    server.wait_until("it is mended", |_| get(&address, "/readyz").1 == "ok\n");
    assert_eq!(manifest(&server).await, r#"{"a":4}"#);
    assert!(get(&address, "/metrics").1.contains("outrigger_config_broken 0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_version_in_plugin_yaml_moves_the_socket() {
    let mut server = Server::start(&generate("echo 'a: 1'"));
    let path = server.place.path().join("config/plugin.yaml");
    std::fs::write(path, plugin_yaml(&format!("version: v2\n{}", generate("echo 'a: 2'")))).unwrap();
    let moved = server.socket.with_file_name("tested-v2.sock");
    server.wait_until("the new socket is there and the old one gone", |server| {
        moved.exists() && !server.socket.exists()
    });
    server.socket = moved;
    assert_eq!(manifest(&server).await, r#"{"a":2}"#);
}

#[tokio::test(flavor = "multi_thread")]
async fn leftovers_of_a_dead_server_are_swept_and_nothing_else() {
    let setup = Setup::new(&generate("echo 'a: 1'"));
    let work = setup.place.path().join("work/_cmp_server");
    let dead = work.join("8e2a1d8e-5d4a-4c60-9a53-0c1c7a1e9a11");
    std::fs::create_dir_all(dead.join("deep/er")).unwrap();
    std::fs::write(dead.join("deep/er/file"), "").unwrap();
    std::fs::create_dir_all(work.join("not-ours")).unwrap();
    std::fs::write(setup.place.path().join("work/also-not-ours"), "").unwrap();
    let server = setup.start();
    server.wait_until("the leftover is gone", |_| !dead.exists());
    assert!(work.join("not-ours").exists());
    assert!(server.place.path().join("work/also-not-ours").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_plugin_yaml_stops_the_start_with_the_place_of_the_mistake() {
    let (status, log) = Setup::with_file(
        "kind: ConfigManagementPlugin\nmetadata:\n  name: x\nspec:\n  generate:\n    command: true\n",
    )
    .run();
    assert_eq!(status.code(), Some(20), "as upstream");
    assert!(log.contains("6:14") || log.contains("line 6"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_are_upstreams_formats_with_the_applications_name_and_no_secrets() {
    for format in ["json", "text"] {
        let server = Setup::new(&generate("echo working >&2; echo 'a: 1'"))
            .env("ARGOCD_CMP_SERVER_LOGFORMAT", format)
            .start();
        let repo = tree(&[("a", "")]);
        let env = [("ARGOCD_APP_NAME", "guestbook"), ("ARGOCD_ENV_PASSWORD", "hunter2")];
        render(&mut server.client().await, repo.path(), ".", &env).await.unwrap();
        server.wait_until("the call is logged", |server| server.log().contains("finished call"));
        let log = server.log();
        assert!(!log.contains("hunter2"));
        let call: Vec<&str> = log
            .lines()
            .filter(|line| line.contains("Plugin command") || line.contains("finished call"))
            .collect();
        assert_eq!(call.len(), 2, "{log}");
        for line in call {
            match format {
                "json" => {
                    let line: serde_json::Value = serde_json::from_str(line).unwrap();
                    assert_eq!(line["app"], "guestbook");
                    assert!(line["time"].is_string() && line["level"] == "info" && line["msg"].is_string());
                }
                _ => assert!(
                    line.starts_with("time=\"")
                        && line.contains(" level=info msg=\"")
                        && line.contains(" app=guestbook"),
                    "{line}"
                ),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped_and_no_exit_status_of_another_render_is_lost() {
    // The daemon leaves the process group, so that it outlives its render; when it dies it is an orphan.
    let server = Server::start(&generate("setsid sleep 1 >/dev/null 2>&1 & sleep 0.5; echo 'a: 1'"));
    for _ in 0..5 {
        // While orphans of the last ones end, every render still hears how its own command ended.
        let renders = futures_util::future::join_all((0..8).map(|_| manifest(&server))).await;
        assert!(renders.iter().all(|manifest| manifest == r#"{"a":1}"#), "{renders:?}");
    }
    server.wait_until("a daemon is the server's child", |server| !server.children().is_empty());
    server.wait_until("all were reaped", |server| server.children().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn orphans_are_reaped_while_the_leader_of_a_long_render_is_kept() {
    let script =
        r#"if [ "$LONG" ]; then sleep 600; fi; setsid sleep 1 >/dev/null 2>&1 & sleep 0.3; echo 'a: 1'"#;
    let server = Server::start(&format!("init: {{command: ['true']}}\n{}", generate(script)));
    let running = begin(&server, &[("LONG", "1")]).await;
    server.wait_until("the long one generates", |server| {
        server.children().iter().any(|child| child.ends_with("(sh) S"))
    });
    for _ in 0..6 {
        manifest(&server).await;
    }
    let dead =
        |server: &Server| server.children().iter().filter(|child| child.ends_with("(sleep) Z")).count();
    let daemons =
        |server: &Server| server.children().iter().filter(|child| child.contains("(sleep)")).count();
    server
        .wait_until("the daemons ended and were reaped", |server| daemons(server) == 0 && dead(server) == 0);
    assert!(server.children().iter().any(|child| child.ends_with("(true) Z")), "the long one's init is kept");
    running.abort();
    server.wait_until_tidy();
}
