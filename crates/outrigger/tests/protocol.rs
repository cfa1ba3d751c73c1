//! The plugin server as the repo-server sees it: every RPC over the real socket of the real binary.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::time::{Duration, Instant};

use outrigger_wire::plugin::AppStreamRequest;
use support::*;
use tonic::Code;

const ECHO: &str = "cat *.yaml";

#[tokio::test(flavor = "multi_thread")]
async fn generate_answers_with_one_json_text_per_document() {
    let server = Server::start(&generate(ECHO));
    let repo = tree(&[
        ("app/a.yaml", "kind: A\nnum: 1.0\n---\nkind: B\n"),
        ("app/b.yaml", "---\n# nothing\n---\n{\"z\":1,\"a\":2}\n"),
    ]);
    let manifests = render(&mut server.client().await, repo.path(), "app", &[]).await.unwrap();
    assert_eq!(manifests, [r#"{"kind":"A","num":1}"#, r#"{"kind":"B"}"#, r#"{"a":2,"z":1}"#]);
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn init_runs_first_in_the_same_directory_and_tree() {
    let spec = format!(
        "init:\n  command: [sh, -c, 'echo \"kind: Made\" > made.yaml; echo \"kind: Up\" > ../up.yaml']\n{}",
        generate("cat made.yaml; echo ---; cat ../up.yaml")
    );
    let server = Server::start(&spec);
    let repo = tree(&[("x/app/a.txt", "")]);
    let manifests = render(&mut server.client().await, repo.path(), "x/app", &[]).await.unwrap();
    assert_eq!(manifests, [r#"{"kind":"Made"}"#, r#"{"kind":"Up"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_environment_is_the_servers_and_the_requests_with_the_later_winning() {
    let server = Setup::new(&generate(
        r#"echo "a: $OWN"; echo "b: $BOTH"; echo "c: \"${EMPTY-unset}\""; echo "d: $REQ""#,
    ))
    .env("OWN", "own")
    .env("BOTH", "server")
    .env("EMPTY", "full")
    .start();
    let repo = tree(&[("a", "")]);
    let env = [("BOTH", "request"), ("EMPTY", ""), ("REQ", "r")];
    let manifests = render(&mut server.client().await, repo.path(), ".", &env).await.unwrap();
    assert_eq!(manifests, [r#"{"a":"own","b":"request","c":"","d":"r"}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reply_and_every_error_carries_the_configurations_digest() {
    let server = Server::start(&generate("exit 1"));
    let mut client = server.client().await;
    let repo = tree(&[("a", "")]);
    let check = client.check_plugin_configuration(()).await.unwrap();
    let digest =
        check.metadata().get(outrigger_wire::CONFIG_DIGEST_HEADER).unwrap().to_str().unwrap().to_owned();
    assert_eq!(digest.len(), 64, "{digest}");
    let status = render(&mut client, repo.path(), ".", &[]).await.unwrap_err();
    assert_eq!(
        status.metadata().get(outrigger_wire::CONFIG_DIGEST_HEADER).unwrap().to_str().unwrap(),
        digest
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_begins_with_the_tools_words_and_names_phase_status_and_times() {
    let server = Server::start(&generate("echo no such chart >&2; exit 4"));
    let repo = tree(&[("a", "")]);
    let status = render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap_err();
    assert_eq!(status.code(), Code::Unknown);
    let message = status.message();
    assert!(message.starts_with("no such chart\n(generate: `sh -c"), "{message}");
    assert!(
        message.contains("exited with status 4 after") && message.ends_with("of 59.9s allowed)"),
        "{message}"
    );
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_document_is_named_by_number_and_line() {
    let server = Server::start(&generate(ECHO));
    let repo = tree(&[("a.yaml", "kind: A\n---\nkind: B\n\tx: 1\n")]);
    let status = render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap_err();
    assert!(status.message().contains("document 2 (line 4)"), "{}", status.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_output_is_a_success_with_a_warning_unless_the_plugin_says_otherwise() {
    let repo = tree(&[("a", "")]);
    let server = Server::start(&generate("true"));
    assert_eq!(
        render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap(),
        Vec::<String>::new()
    );
    assert!(server.log().contains("zero output"));
    let server =
        Server::start(&format!("{}outrigger:\n  emptyOutput: fail\n", generate("echo '# only a comment'")));
    let status = render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap_err();
    assert!(status.message().contains("emptyOutput"), "{}", status.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_by_file_name_and_glob_writes_nothing_and_follows_links_inside() {
    let repo =
        tree(&[("apps/one/Chart.yaml", ""), ("apps/two/x/deep/k.libsonnet", ""), ("apps/three -> one", "")]);
    for (rule, app, expected) in [
        ("fileName: Chart.yaml", "apps/one", true),
        ("fileName: Chart.yaml", "apps/two", false),
        ("fileName: Chart.yaml", "apps/three", true),
        ("fileName: ../*/Chart.yaml", "apps/two", true),
        ("find: {glob: '**/*.libsonnet'}", "apps/two", true),
        ("find: {glob: '**/*.libsonnet'}", "apps/one", false),
        ("find: {glob: '**/*.libsonnet'}", ".", true),
    ] {
        let server = Server::start(&format!("{}discover:\n  {rule}\n", generate("true")));
        let messages = messages(repo.path(), app, &[]).await;
        let reply =
            server.client().await.match_repository(request(messages, MINUTE)).await.unwrap().into_inner();
        assert_eq!((reply.is_supported, reply.is_discovery_enabled), (expected, true), "{rule} in {app}");
        assert_eq!(server.trees().len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_errors_are_errors_and_not_a_silent_no() {
    let repo = tree(&[("a", "")]);
    for (rule, wanted) in [
        ("fileName: '[a'", "syntax error in pattern"),
        ("find: {glob: missing.yaml}", "does not exist"),
        ("find: {command: [sh, -c, 'echo sorry >&2; exit 1']}", "sorry"),
    ] {
        let server = Server::start(&format!("{}discover:\n  {rule}\n", generate("true")));
        let messages = messages(repo.path(), ".", &[]).await;
        let status = server.client().await.match_repository(request(messages, MINUTE)).await.unwrap_err();
        assert!(status.message().contains(wanted), "{rule}: {}", status.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn discovery_by_command_is_non_empty_output_in_the_application_directory() {
    let repo = tree(&[("app/here.txt", "")]);
    for (script, expected) in [("ls here.txt", true), ("true", false), ("echo", false)] {
        let server = Server::start(&format!(
            "{}discover:\n  find:\n    command: [sh, -c, '{script}']\n",
            generate("true")
        ));
        let messages = messages(repo.path(), "app", &[]).await;
        let reply =
            server.client().await.match_repository(request(messages, MINUTE)).await.unwrap().into_inner();
        assert_eq!(reply.is_supported, expected, "{script}");
        server.wait_until_tidy();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_rule_nothing_is_discovered() {
    let server = Server::start(&generate("true"));
    let repo = tree(&[("a", "")]);
    let mut client = server.client().await;
    let check = client.check_plugin_configuration(()).await.unwrap().into_inner();
    assert!(!check.is_discovery_configured && !check.provide_git_creds);
    let messages = messages(repo.path(), ".", &[]).await;
    let reply = client.match_repository(request(messages, MINUTE)).await.unwrap().into_inner();
    assert!(!reply.is_supported && !reply.is_discovery_enabled);
}

#[tokio::test(flavor = "multi_thread")]
async fn dynamic_parameters_come_before_static_ones() {
    let spec = format!(
        "{}provideGitCreds: true\nparameters:\n  static:\n    - {{name: s, title: S, required: true, collectionType: map, map: {{k: v}}}}\n  dynamic:\n    command: [sh, -c, 'cat params.json']\n",
        generate("true")
    );
    let server = Server::start(&spec);
    let repo = tree(&[("params.json", r#"[{"name":"d","collectionType":"array","array":["1","2"]}]"#)]);
    let messages = messages(repo.path(), ".", &[]).await;
    let mut client = server.client().await;
    let reply = client.get_parameters_announcement(request(messages, MINUTE)).await.unwrap().into_inner();
    let names: Vec<&str> = reply.parameter_announcements.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["d", "s"]);
    assert_eq!(reply.parameter_announcements[0].array, ["1", "2"]);
    assert_eq!(reply.parameter_announcements[1].map["k"], "v");
    assert!(client.check_plugin_configuration(()).await.unwrap().into_inner().provide_git_creds);
}

#[tokio::test(flavor = "multi_thread")]
async fn static_parameters_are_told_without_running_anything() {
    let server = Server::start(&format!("{}parameters:\n  static: [{{name: only}}]\n", generate("exit 9")));
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", &[]).await;
    let reply = server.client().await.get_parameters_announcement(request(messages, MINUTE)).await.unwrap();
    assert_eq!(reply.into_inner().parameter_announcements[0].name, "only");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_specification_is_the_name_with_the_version() {
    let server = Setup::new(&format!("version: v2\n{}", generate("true"))).socket("tested-v2.sock").start();
    let none: Vec<AppStreamRequest> = Vec::new();
    let reply = server.client().await.get_specification(request(none, MINUTE)).await.unwrap();
    assert_eq!(reply.into_inner().name, "tested-v2");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_version_and_reflection_answer() {
    let server = Server::start(&generate("true"));
    let output = std::process::Command::new(BINARY)
        .args(["healthcheck", &format!("unix:{}", server.socket.display())])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let channel = tonic::transport::Endpoint::from_static("http://localhost");
    let socket = server.socket.clone();
    let channel = channel
        .connect_with_connector(tower::service_fn(move |_: tonic::transport::Uri| {
            let socket = socket.clone();
            async move { tokio::net::UnixStream::connect(socket).await.map(hyper_util::rt::TokioIo::new) }
        }))
        .await
        .unwrap();
    let version = outrigger_wire::version::version_service_client::VersionServiceClient::new(channel.clone())
        .version(())
        .await
        .unwrap();
    assert!(version.into_inner().version.ends_with("+outrigger"));
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::{ServerReflectionRequest, server_reflection_request::MessageRequest};
    let ask = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let mut replies = ServerReflectionClient::new(channel)
        .server_reflection_info(tokio_stream::iter([ask]))
        .await
        .unwrap()
        .into_inner();
    let reply = format!("{:?}", replies.message().await.unwrap().unwrap());
    for service in ["plugin.ConfigManagementPluginService", "grpc.health.v1.Health", "version.VersionService"]
    {
        assert!(reply.contains(service), "{reply}");
    }
}

/// As gRPC for Go does it: with the socket's path for an authority, which is no host name.
#[tokio::test(flavor = "multi_thread")]
async fn the_sockets_path_as_authority_is_accepted() {
    use std::io::{Read as _, Write as _};
    let server = Server::start(&generate("true"));
    let mut stream = std::os::unix::net::UnixStream::connect(&server.socket).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut block = Vec::new();
    let path = server.socket.to_str().unwrap().replace('/', "%2F");
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/plugin.ConfigManagementPluginService/CheckPluginConfiguration"),
        (":authority", &path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        block.push(0);
        for text in [name, value] {
            block.push(u8::try_from(text.len()).unwrap());
            block.extend_from_slice(text.as_bytes());
        }
    }
    let frame = |kind: u8, flags: u8, stream: u8, payload: &[u8]| {
        let length = u8::try_from(payload.len()).unwrap();
        [&[0, 0, length, kind, flags, 0, 0, 0, stream], payload].concat()
    };
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
    stream
        .write_all(&[frame(4, 0, 0, &[]), frame(1, 4, 1, &block), frame(0, 1, 1, &[0; 5])].concat())
        .unwrap();
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).unwrap();
        let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
        stream.read_exact(&mut payload).unwrap();
        assert_ne!(head[3], 3, "the stream is refused: {payload:?}");
        if head[3] == 1 && head[8] == 1 {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_start_with_metadata_is_refused_after_it_was_read() {
    let server = Server::start(&generate("true"));
    let mut client = server.client().await;
    let chunk = || file(bytes::Bytes::from_static(b"x"));
    let status = client.generate_manifest(request(vec![chunk(), chunk()], MINUTE)).await.unwrap_err();
    assert!(status.message().contains("metadata"), "{}", status.message());
    let status = client.generate_manifest(request(Vec::new(), MINUTE)).await.unwrap_err();
    assert!(status.message().contains("empty"), "{}", status.message());
}

#[tokio::test(flavor = "multi_thread")]
async fn two_metadata_messages_are_refused() {
    let server = Server::start(&generate("touch ran"));
    let repo = tree(&[("a", "")]);
    let mut messages = messages(repo.path(), ".", &[]).await;
    messages.push(messages[0].clone());
    let status = server.client().await.generate_manifest(request(messages, MINUTE)).await.unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_checksum_stops_everything_before_a_command_runs() {
    let mark = tempfile::tempdir().unwrap();
    let ran = mark.path().join("ran");
    let server = Server::start(&generate(&format!("touch {}", ran.display())));
    let repo = tree(&[("a", "content")]);
    let mut messages = messages(repo.path(), ".", &[]).await;
    if let Some(outrigger_wire::plugin::app_stream_request::Request::Metadata(metadata)) =
        &mut messages[0].request
    {
        metadata.checksum = "0".repeat(64);
    }
    let status = server.client().await.generate_manifest(request(messages, MINUTE)).await.unwrap_err();
    assert!(status.message().contains("checksum"), "{}", status.message());
    assert!(!ran.exists());
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_application_path_outside_the_tree_is_refused() {
    let server = Server::start(&generate("echo 'a: 1'"));
    let repo = tree(&[("a", "")]);
    let mut client = server.client().await;
    for (path, wanted) in
        [("../..", "illegal appPath"), ("../../../etc", "illegal appPath"), ("missing", "not a directory")]
    {
        let mut messages = messages(repo.path(), ".", &[]).await;
        if let Some(outrigger_wire::plugin::app_stream_request::Request::Metadata(metadata)) =
            &mut messages[0].request
        {
            metadata.app_rel_path = path.to_owned();
        }
        let status = client.generate_manifest(request(messages, MINUTE)).await.unwrap_err();
        assert!(status.message().contains(wanted), "{path}: {}", status.message());
    }
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn file_modes_are_plain_unless_preserved() {
    let repo = tree(&[("run.sh", "#!/bin/sh\necho 'ran: true'\n")]);
    std::fs::set_permissions(repo.path().join("run.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let spec = generate("test -x run.sh && ./run.sh || echo 'ran: false'");
    let server = Server::start(&spec);
    assert_eq!(
        render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap(),
        [r#"{"ran":false}"#]
    );
    let server = Server::start(&format!("preserveFileMode: true\n{spec}"));
    assert_eq!(render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap(), [r#"{"ran":true}"#]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_command_fails_before_the_callers_deadline_and_says_so() {
    let server = Server::start(&generate("echo still fetching >&2; sleep 600"));
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", &[]).await;
    let started = Instant::now();
    let request = request(messages, Duration::from_secs(2));
    let status = server.client().await.generate_manifest(request).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(2), "the error arrives in time");
    assert_eq!(status.code(), Code::DeadlineExceeded);
    assert!(status.message().starts_with("still fetching\n"), "{}", status.message());
    assert!(status.message().contains("the request's deadline allowed"), "{}", status.message());
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_20577_exec_timeout_is_honoured_when_set() {
    let server = Setup::new(&generate("sleep 600")).env("ARGOCD_EXEC_TIMEOUT", "300ms").start();
    let repo = tree(&[("a", "")]);
    let status = render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap_err();
    assert!(status.message().contains("ARGOCD_EXEC_TIMEOUT allowed 300ms"), "{}", status.message());
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sender_that_stalls_is_given_up_at_the_deadline_and_the_phase_is_named() {
    let server = Server::start(&generate("true"));
    let repo = tree(&[("a", "")]);
    let mut messages = messages(repo.path(), ".", &[]).await;
    messages.truncate(1);
    let stalled = tokio_stream::StreamExt::chain(tokio_stream::iter(messages), tokio_stream::pending());
    let mut stalled = tonic::Request::new(stalled);
    stalled.set_timeout(Duration::from_secs(2));
    let status = server.client().await.generate_manifest(stalled).await.unwrap_err();
    assert_eq!(status.code(), Code::DeadlineExceeded, "{status:?}");
    assert!(status.message().contains("phase receive"), "{}", status.message());
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_nothing() {
    let server = Server::start(&generate("sleep 600 & sleep 600"));
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", &[]).await;
    let mut client = server.client().await;
    let call = tokio::spawn(async move { client.generate_manifest(request(messages, MINUTE)).await });
    server.wait_until("the command runs", |server| !server.children().is_empty());
    call.abort();
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_17914_a_variable_too_long_for_a_program_arrives_as_a_file() {
    let server =
        Server::start(&generate(r#"echo "size: $(wc -c < "$BIG_FILE")"; echo "bare: ${BIG-unset}""#));
    let repo = tree(&[("a", "")]);
    let big = "x".repeat(300_000);
    let manifests = render(&mut server.client().await, repo.path(), ".", &[("BIG", &big)]).await.unwrap();
    assert_eq!(manifests, [r#"{"bare":"unset","size":300000}"#]);
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn parallelism_bounds_what_runs_at_once_and_the_queue_ends_with_the_deadline() {
    let server = Setup::new(&generate("sleep 1; echo 'a: 1'")).arg("--parallelism").arg("1").start();
    let repo = tree(&[("a", "")]);
    let messages = messages(repo.path(), ".", &[]).await;
    let (mut first, mut second) = (server.client().await, server.client().await);
    let running = tokio::spawn({
        let messages = messages.clone();
        async move { first.generate_manifest(request(messages, MINUTE)).await }
    });
    server.wait_until("the first runs", |server| !server.children().is_empty());
    let status =
        second.generate_manifest(request(messages.clone(), Duration::from_millis(500))).await.unwrap_err();
    assert!(status.message().contains("phase queue"), "{}", status.message());
    running.await.unwrap().unwrap();
    second.generate_manifest(request(messages, MINUTE)).await.unwrap();
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn many_renders_at_once_do_not_mix() {
    let server = Server::start(&generate(r#"cat own.yaml; echo "env: $MINE""#));
    let mut calls = Vec::new();
    for number in 0..32 {
        let repo = tree(&[("own.yaml", &format!("file: {number}\n"))]);
        let mut client = server.client().await;
        calls.push(tokio::spawn(async move {
            let mine = number.to_string();
            let manifests = render(&mut client, repo.path(), ".", &[("MINE", &mine)]).await.unwrap();
            assert_eq!(manifests, [format!(r#"{{"env":{number},"file":{number}}}"#)]);
        }));
    }
    for call in calls {
        call.await.unwrap();
    }
    server.wait_until_tidy();
}
