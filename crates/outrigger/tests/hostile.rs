//! Hostile archives over the wire: a clear error, nothing outside the tree touched, the server goes on.
//! The whole corpus, case by case, is in the tests of `outrigger-source`; here is what reaches a caller.
#![allow(missing_docs, clippy::unwrap_used)]

mod support;

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use support::*;
use tonic::Code;

/// A tar header with these fields; what `tar` itself would refuse to write included.
fn header(name: &str, kind: u8, link: &str, size: u64) -> [u8; 512] {
    let mut block = [0_u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[136..148].copy_from_slice(b"00000000000\0");
    block[148..156].copy_from_slice(b"        ");
    block[156] = kind;
    block[157..157 + link.len()].copy_from_slice(link.as_bytes());
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

fn archive(entries: &[[u8; 512]]) -> Vec<u8> {
    gzip(&[entries.concat(), vec![0; 1024]].concat())
}

/// Mebibytes of zeros in one file, a thousandth of that on the wire.
fn bomb(mebibytes: u64) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(&header("bomb", b'0', "", mebibytes << 20)).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..mebibytes {
        gzip.write_all(&zeros).unwrap();
    }
    gzip.write_all(&[0; 1024]).unwrap();
    gzip.finish().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_archives_are_refused_and_the_server_goes_on() {
    let spec = format!("{}discover: {{fileName: '*'}}\n", generate("echo 'a: 1'"));
    let server = Setup::new(&spec)
        .arg("--max-source-bytes=64Mi")
        .arg("--max-file-bytes=32Mi")
        .arg("--max-source-entries=1000")
        .arg("--max-depth=40")
        .arg("--max-name-bytes=300")
        .start();
    let many: Vec<[u8; 512]> = (0..2000).map(|number| header(&format!("f{number}"), b'0', "", 0)).collect();
    let deep = "d/".repeat(45);
    let cases: [(&str, Vec<u8>, Code); 14] = [
        ("parent directory", archive(&[header("../../canary", b'0', "", 0)]), Code::InvalidArgument),
        ("link out of the tree", archive(&[header("link", b'2', "../../..", 0)]), Code::InvalidArgument),
        (
            "write through a link",
            archive(&[header("a/up", b'2', "..", 0), header("a/up/b", b'2', "../canary", 0)]),
            Code::InvalidArgument,
        ),
        (
            "file over a directory",
            archive(&[header("d", b'5', "", 0), header("d", b'0', "", 0)]),
            Code::InvalidArgument,
        ),
        (
            "link over a file",
            archive(&[header("f", b'0', "", 0), header("f", b'2', "g", 0)]),
            Code::InvalidArgument,
        ),
        ("not gzip", b"this is no archive".to_vec(), Code::InvalidArgument),
        ("gzip of nonsense", gzip(&[7; 2000]), Code::InvalidArgument),
        ("nothing at all", Vec::new(), Code::InvalidArgument),
        (
            "truncated",
            {
                let whole = bomb(1);
                whole[..whole.len() / 2].to_vec()
            },
            Code::InvalidArgument,
        ),
        ("too many entries", archive(&many), Code::ResourceExhausted),
        ("too deep", archive(&[header(&deep, b'5', "", 0)]), Code::ResourceExhausted),
        ("one file too large", bomb(40), Code::ResourceExhausted),
        ("a bomb", bomb(200), Code::ResourceExhausted),
        (
            "a header that claims petabytes",
            archive(&[header("f", b'0', "", 0o77777777777)]),
            Code::ResourceExhausted,
        ),
    ];
    let canary = server.place.path().join("work/canary");
    let mut client = server.client().await;
    for (name, bytes, code) in cases {
        let messages = parts(".", &bytes, Vec::new(), 4096);
        let generate = client.generate_manifest(request(messages.clone(), MINUTE)).await.unwrap_err();
        let found = client.match_repository(request(messages, MINUTE)).await.unwrap_err();
        assert_eq!(
            (generate.code(), found.code()),
            (code, code),
            "{name}: {} / {}",
            generate.message(),
            found.message()
        );
        assert!(!generate.message().is_empty(), "{name}");
        assert!(!canary.exists(), "{name}");
    }
    server.wait_until_tidy();
    let ignored = archive(&[
        header("h", b'1', "/etc/passwd", 0),
        header("c", b'3', "", 0),
        header("p", b'6', "", 0),
        header("f", b'0', "", 0),
    ]);
    let reply =
        client.generate_manifest(request(parts(".", &ignored, Vec::new(), 4096), MINUTE)).await.unwrap();
    assert_eq!(reply.into_inner().manifests, [r#"{"a":1}"#]);
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_multiply_paths_do_not_multiply_work() {
    let server =
        Server::start(&format!("{}discover: {{fileName: '*/*/*/*/*/nope.yaml'}}\n", generate("true")));
    let links: Vec<[u8; 512]> = (0..1500).map(|number| header(&format!("l{number}"), b'2', ".", 0)).collect();
    let messages = parts(".", &archive(&links), Vec::new(), 4096);
    let timeout = std::time::Duration::from_secs(20);
    let reply =
        server.client().await.match_repository(request(messages, timeout)).await.unwrap().into_inner();
    assert!(!reply.is_supported && reply.is_discovery_enabled);
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_stream_and_gone_leaves_nothing() {
    let server = Server::start(&generate("echo 'a: 1'"));
    let messages = parts(".", &bomb(20), Vec::new(), 1024);
    let half: Vec<_> = messages[..messages.len() / 2].to_vec();
    for _ in 0..10 {
        let mut client = server.client().await;
        let stream =
            tokio_stream::StreamExt::chain(tokio_stream::iter(half.clone()), tokio_stream::pending());
        let call = tokio::spawn(async move { client.generate_manifest(stream).await });
        server.wait_until("a tree is begun", |server| !server.trees().is_empty());
        call.abort();
    }
    server.wait_until_tidy();
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_the_socket_disturbs_nobody() {
    let server = Server::start(&generate("echo 'a: 1'"));
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0xff; 5000],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
    ] {
        let mut stream = std::os::unix::net::UnixStream::connect(&server.socket).unwrap();
        let _ = stream.write_all(garbage);
    }
    let repo = tree(&[("a", "")]);
    assert_eq!(render(&mut server.client().await, repo.path(), ".", &[]).await.unwrap().len(), 1);
}
