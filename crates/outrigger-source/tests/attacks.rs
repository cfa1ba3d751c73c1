//! Archives made to hurt, each with the answer it must get. Scanning and unpacking must agree, nothing
//! outside the tree may change, and nothing may stay behind.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

#[path = "support/attack.rs"]
mod attack;
mod support;

use std::path::Path;

use attack::{Refused, Surroundings, Tree, case, check, limited, preserving, raw};
use outrigger_source::{FileModes, LimitKind, Limits, SourceError};
use support::{Archive, Head, Magic, fix_checksum, gzip, mode_of, source};

#[tokio::test]
#[rustfmt::skip]
async fn names_cannot_leave_the_tree() {
    check(vec![
        case("dot dot", Archive::new().file("../secret", "x"), Refused("Escapes")),
        case("dot dot in the middle", Archive::new().file("a/../../secret", "x"), Refused("Escapes")),
        case("dot dot directory", Archive::new().dir(".."), Refused("Escapes")),
        case("dot dot link", Archive::new().link("../l", "secret"), Refused("Escapes")),
        case("dot dot alone as a file", Archive::new().file("..", "x"), Refused("Escapes")),
        case("dot dot that stays inside", Archive::new().file("a/../b", "x"), Tree(&[("b", "f")])),
        case("absolute", Archive::new().file("/etc/passwd", "x"), Tree(&[("etc", "d"), ("etc/passwd", "f")])),
        case("absolute and climbing", Archive::new().file("/../../secret", "x"), Tree(&[("secret", "f")])),
        case("the root itself", Archive::new().dir("./").dir("/").dir("").file(".", ""), Tree(&[])),
        case("doubled slashes", Archive::new().file("a//./b/", "x"), Tree(&[("a", "d"), ("a/b", "f")])),
        case("three dots are a name", Archive::new().file("...", "x"), Tree(&[("...", "f")])),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn links_lead_nowhere_outside() {
    check(vec![
        case("out", Archive::new().link("l", "../secret"), Refused("Escapes")),
        case("far out", Archive::new().link("a/l", "../../../../secret"), Refused("Escapes")),
        case("absolute becomes relative", Archive::new().link("a/l", "/etc"), Tree(&[("a", "d"), ("a/l", "l etc")])),
        case("absolute climbing out", Archive::new().link("l", "/../secret"), Tree(&[("l", "l secret")])),
        case("inside", Archive::new().file("a/f", "x").link("b/l", "../a/f"), Tree(&[("a", "d"), ("a/f", "f"), ("b", "d"), ("b/l", "l ../a/f")])),
        case("dangling", Archive::new().link("l", "later/x"), Tree(&[("l", "l later/x")])),
        case("to the root", Archive::new().link("a/l", ".."), Tree(&[("a", "d"), ("a/l", "l ..")])),
        case("empty target", Archive::new().link("l", ""), Tree(&[("l", "l .")])),
        case("under a link", Archive::new().dir("d").link("l", "d").link("l/x", "y"), Refused("SymlinkParent")),
        case("the classic two-step", Archive::new().dir("a").link("a/up", "..").link("a/up/esc", "../secret"), Refused("SymlinkParent")),
        case("through a file", Archive::new().file("f", "x").link("l", "f/x"), Refused("Entry")),
        case("to itself", Archive::new().link("l", "l"), Tree(&[("l", "l l")])),
        case("through a loop", Archive::new().link("a", "b").link("b", "a").link("c", "a/x"), Refused("Entry")),
        case("a chain of eight", chain(8).file("l8", "x"), Tree(EIGHT_LINKS_AND_A_FILE)),
        case("a chain of nine", chain(9), Tree(NINE_LINKS)),
        case("a write along a chain of nine", chain(9).file("l9", "x"), Refused("Entry")),
        case("target longer than the kernel takes", Archive::new().pax(&[("linkpath", &[b'a'; 5000])]).link("l", ""), Refused("Limit")),
        case("target with a name longer than a disk takes", Archive::new().pax(&[("linkpath", &[b'a'; 300])]).link("l", ""), Refused("Entry")),
    ])
    .await;
}

#[rustfmt::skip]
const NINE_LINKS: &[(&str, &str)] = &[
    ("l1", "l x"), ("l2", "l l1"), ("l3", "l l2"), ("l4", "l l3"), ("l5", "l l4"), ("l6", "l l5"),
    ("l7", "l l6"), ("l8", "l l7"), ("l9", "l l8"),
];
#[rustfmt::skip]
const EIGHT_LINKS_AND_A_FILE: &[(&str, &str)] = &[
    ("l1", "l x"), ("l2", "l l1"), ("l3", "l l2"), ("l4", "l l3"), ("l5", "l l4"), ("l6", "l l5"),
    ("l7", "l l6"), ("l8", "l l7"), ("x", "f"),
];

fn chain(length: usize) -> Archive {
    (1..=length).fold(Archive::new(), |archive, at| {
        let target = if at == 1 { "x".to_owned() } else { format!("l{}", at - 1) };
        archive.link(format!("l{at}"), target)
    })
}

#[tokio::test]
#[rustfmt::skip]
async fn writes_through_links_stay_inside() {
    check(vec![
        case("file through a link", Archive::new().dir("d").link("l", "d").file("l/f", "x"), Tree(&[("d", "d"), ("d/f", "f"), ("l", "l d")])),
        case("file over a link", Archive::new().file("f", "old").link("l", "f").file("l", "new"), Tree(&[("f", "f"), ("l", "l f")])),
        case("file over a dangling link makes its target", Archive::new().link("l", "f").file("l", "x"), Tree(&[("f", "f"), ("l", "l f")])),
        case("file over a link to a directory", Archive::new().dir("d").link("l", "d").file("l", "x"), Refused("Entry")),
        case("file over a link to nowhere deep", Archive::new().link("l", "no/f").file("l", "x"), Refused("Entry")),
        case("directory over a link to a directory", Archive::new().dir("d").link("l", "d").dir("l"), Tree(&[("d", "d"), ("l", "l d")])),
        case("directory over a dangling link", Archive::new().link("l", "d").dir("l"), Refused("Entry")),
        case(
            "directories through a dangling link",
            Archive::new().link("l", "d").file("l/s/f", "x"),
            Tree(&[("d", "d"), ("d/s", "d"), ("d/s/f", "f"), ("l", "l d")]),
        ),
        case(
            "climbing through links",
            Archive::new().dir("a/b").link("a/b/up", "../..").file("a/b/up/f", "x"),
            Tree(&[("a", "d"), ("a/b", "d"), ("a/b/up", "l ../.."), ("f", "f")]),
        ),
        case("dangling first, then a directory to leave by", Archive::new().link("l", "x/y").link("x", "."), Tree(&[("l", "l x/y"), ("x", "l .")])),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn of_two_entries_with_one_name_the_second_is_judged() {
    check(vec![
        case("file, file", Archive::new().file("n", "1").file("n", "2"), Tree(&[("n", "f")])),
        case("file, directory", Archive::new().file("n", "1").dir("n"), Refused("Entry")),
        case("file, link", Archive::new().file("n", "1").link("n", "x"), Refused("Entry")),
        case("directory, file", Archive::new().dir("n").file("n", "1"), Refused("Entry")),
        case("directory, directory", Archive::new().dir("n").dir("n"), Tree(&[("n", "d")])),
        case("directory, link", Archive::new().dir("n").link("n", "x"), Refused("Entry")),
        case("link, file", Archive::new().link("n", "x").file("n", "1"), Tree(&[("n", "l x"), ("x", "f")])),
        case("link, directory", Archive::new().link("n", "x").dir("n"), Refused("Entry")),
        case("link, link", Archive::new().link("n", "x").link("n", "x"), Refused("Entry")),
        case("file below a file", Archive::new().file("n", "1").file("n/x", "2"), Refused("Entry")),
        case("directory below a file", Archive::new().file("n", "1").dir("n/x"), Refused("Entry")),
        case("link below a file", Archive::new().file("n", "1").link("n/x", "y"), Refused("Entry")),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn other_types_have_no_effect() {
    let other = |typeflag: u8, content: &str| Archive::new().other(typeflag, "o", content).file("f", "x");
    check(vec![
        case("hard link", other(b'1', ""), Tree(&[("f", "f")])),
        case("hard link out of the tree", Archive::new().other(b'1', "../../secret", ""), Tree(&[])),
        case("character device", other(b'3', ""), Tree(&[("f", "f")])),
        case("block device", other(b'4', ""), Tree(&[("f", "f")])),
        case("fifo", other(b'6', ""), Tree(&[("f", "f")])),
        case("contiguous file", other(b'7', "content"), Tree(&[("f", "f")])),
        case("unknown type", other(b'Z', "content"), Tree(&[("f", "f")])),
        case("global header", other(b'g', "13 path=../x\n"), Tree(&[("f", "f")])),
        case("malformed global header", other(b'g', "nonsense"), Refused("Tar")),
        case("old file type", Archive::new().other(0, "o", "content"), Tree(&[("o", "f")])),
        case("old directory type", Archive::new().other(0, "o/", ""), Tree(&[("o", "d")])),
        case("old GNU sparse file", Archive::new().raw(&old_sparse(true)).file("f", "x"), Tree(&[("f", "f")])),
        case("old GNU sparse file, broken map", Archive::new().raw(&old_sparse(false)).file("f", "x"), Refused("Tar")),
        case("PAX sparse file", Archive::new().pax(&[("GNU.sparse.major", b"1"), ("GNU.sparse.minor", b"0")]).file("f", "x"), Refused("Sparse")),
        case("PAX sparse file of the first kind", Archive::new().pax(&[("GNU.sparse.map", b"0,1")]).file("f", "x"), Refused("Sparse")),
    ])
    .await;
}

fn old_sparse(valid: bool) -> [u8; 512] {
    let mut block = Head { magic: Magic::Gnu, ..Head::new(b'S', "s") }.block();
    block[386..398].copy_from_slice(b"00000000100\0");
    block[398..410].copy_from_slice(b"00000000000\0");
    block[483..495].copy_from_slice(if valid { b"00000000200\0" } else { b"00000000001\0" });
    fix_checksum(&mut block);
    block
}

#[tokio::test]
#[rustfmt::skip]
async fn long_names_are_read_and_bounded() {
    let long = "n".repeat(120);
    let expected: &'static [(&str, &str)] = Box::leak(Box::new([(&*Box::leak(long.clone().into_boxed_str()), "f")]));
    let huge = |typeflag| Archive::new().with(&Head { size: 5 << 30, ..Head::new(typeflag, "h") }, b"");
    check(vec![
        case("PAX", Archive::new().pax(&[("path", long.as_bytes())]).file("short", "x"), Tree(expected)),
        case("GNU", Archive::new().gnu(b'L', long.as_bytes()).file("short", "x"), Tree(expected)),
        case("GNU beats PAX", Archive::new().gnu(b'L', b"g").pax(&[("path", b"p")]).file("n", "x"), Tree(&[("g", "f")])),
        case(
            "link targets",
            Archive::new().gnu(b'K', b"g").link("a", "x").pax(&[("linkpath", b"p")]).link("b", "x"),
            Tree(&[("a", "l g"), ("b", "l p")]),
        ),
        case("prefix field", Archive::new().with(&Head { prefix: b"p".to_vec(), ..Head::new(b'0', "n") }, b""), Tree(&[("p", "d"), ("p/n", "f")])),
        case("the last of two PAX headers", Archive::new().pax(&[("path", b"one")]).pax(&[("path", b"two")]).file("n", "x"), Tree(&[("two", "f")])),
        case("PAX size", Archive::new().pax(&[("size", b"3")]).with(&Head::new(b'0', "n"), b"abc").file("f", "x"), Tree(&[("f", "f"), ("n", "f")])),
        case("PAX record of five gigabytes", huge(b'x'), Refused("Tar")),
        case("GNU name of five gigabytes", huge(b'L'), Refused("Tar")),
        case("GNU link of five gigabytes", huge(b'K'), Refused("Tar")),
        case("PAX path with a NUL", Archive::new().pax(&[("path", b"a\0b")]).file("n", "x"), Refused("Tar")),
        case("PAX length that lies", Archive::new().other(b'x', "p", "99 path=a\n").file("n", "x"), Refused("Tar")),
        case("negative PAX size", Archive::new().pax(&[("size", b"-1")]).file("n", "x"), Refused("Tar")),
        case("component of 256 bytes", Archive::new().pax(&[("path", &[b'n'; 256])]).file("n", "x"), Refused("Entry")),
        case("GNU name cut at its NUL", Archive::new().gnu(b'L', b"a\0b").file("n", "x"), Tree(&[("a", "f")])),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn strange_bytes_in_names_are_kept() {
    check(vec![
        case("newline", Archive::new().file("a\nb", "x"), Tree(&[("a\nb", "f")])),
        case("backslash", Archive::new().file("..\\x", "x"), Tree(&[("..\\x", "f")])),
        case("not UTF-8", Archive::new().file(b"a\xff", "x"), Tree(&[("a\u{fffd}", "f")])),
        case("a NUL ends a name", Archive::new().file(b"a\0b", "x"), Tree(&[("a", "f")])),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn damaged_streams_are_refused() {
    let good = Archive::new().file("a", "hello").end();
    let tgz = good.tgz();
    let mut flipped = tgz.clone();
    let at = flipped.len() - 6;
    flipped[at] ^= 1;
    let open_end = Archive::new().file("a", "hello").tgz();
    let mut bad_sum = good.clone();
    bad_sum.0[0] = b'b';
    check(vec![
        raw("empty", Vec::new(), Refused("Gzip")),
        raw("not gzip", b"PK\x03\x04 and so on".to_vec(), Refused("Gzip")),
        raw("half a gzip header", tgz[..5].to_vec(), Refused("Gzip")),
        raw("truncated gzip", tgz[..tgz.len() / 2].to_vec(), Refused("Gzip")),
        raw("truncated content", gzip(&good.0[..514]), Refused("Tar")),
        raw("truncated header", gzip(&good.0[..100]), Refused("Tar")),
        raw("truncated padding", gzip(&good.0[..520]), Tree(&[("a", "f")])),
        raw("no end marker", open_end.clone(), Tree(&[("a", "f")])),
        raw("half an end marker", gzip(&good.0[..1536]), Tree(&[("a", "f")])),
        raw("a zero block and something else", gzip(&[&good.0[..1536], &good.0[..512]].concat()), Refused("Tar")),
        raw("bad header checksum", bad_sum.tgz(), Refused("Tar")),
        raw("two members", [gzip(&good.0[..700]), gzip(&good.0[700..])].concat(), Tree(&[("a", "f")])),
        raw("an empty member first", [gzip(b""), tgz.clone()].concat(), Tree(&[("a", "f")])),
        raw("bytes after the end marker", gzip(&[good.0.as_slice(), b"anything"].concat()), Tree(&[("a", "f")])),
        raw("bytes after gzip", [tgz.as_slice(), b"anything"].concat(), Tree(&[("a", "f")])),
        raw("bytes after gzip, no end marker", [open_end.as_slice(), b"anything"].concat(), Refused("Gzip")),
        raw("a wrong sum after the end marker goes unread", flipped, Tree(&[("a", "f")])),
        raw("an empty archive", Archive::new().end().tgz(), Tree(&[])),
        raw("an archive of nothing", gzip(b""), Tree(&[])),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn archives_over_a_limit_are_refused() {
    let zeros = vec![0; 3 << 20];
    let many = (0..200).fold(Archive::new(), |archive, at| archive.other(b'1', format!("h{at}"), ""));
    let deep = Archive::new().file("d/".repeat(30) + "f", "");
    let wide = (0..6).fold(Archive::new(), |archive, at| archive.file(format!("{at}/a/b/c/d/e/f"), ""));
    let bomb = || case("bytes", Archive::new().file("f", &zeros), Refused("Limit"));
    check(vec![
        limited(bomb(), |limits| limits.source_bytes = 1 << 20),
        limited(bomb(), |limits| limits.file_bytes = 1 << 20),
        limited(bomb(), |limits| limits.wire_bytes = 100),
        limited(case("ignored content", Archive::new().other(b'7', "f", &zeros), Refused("Limit")), |limits| limits.source_bytes = 1 << 20),
        limited(case("entries", many.clone(), Refused("Limit")), |limits| limits.entries = 199),
        limited(case("entries that fit", many, Tree(&[])), |limits| limits.entries = 200),
        limited(case("directories nobody named", wide, Refused("Limit")), |limits| limits.entries = 30),
        limited(case("depth", deep, Refused("Limit")), |limits| limits.depth = 30),
        limited(case("path", Archive::new().file("abcdef", ""), Refused("Limit")), |limits| limits.name_bytes = 5),
        case("a size nobody has", Archive::new().with(&Head { size: 1 << 40, ..Head::new(b'0', "f") }, b""), Refused("Limit")),
    ])
    .await;
}

#[tokio::test]
#[rustfmt::skip]
async fn preserved_modes_are_kept_and_odd_ones_refused() {
    let with_mode = |typeflag, mode| Archive::new().with(&Head { mode, ..Head::new(typeflag, "n") }, b"");
    check(vec![
        preserving(case("plain", with_mode(b'0', 0o750), Tree(&[("n", "f")]))),
        preserving(case("set-uid file", with_mode(b'0', 0o4755), Refused("Mode"))),
        preserving(case("set-gid directory", with_mode(b'5', 0o2755), Refused("Mode"))),
        preserving(case("sticky directory", with_mode(b'5', 0o1777), Refused("Mode"))),
        case("set-uid file, fixed modes", with_mode(b'0', 0o4755), Tree(&[("n", "f")])),
    ])
    .await;

    let around = Surroundings::new();
    let archive = Archive::new()
        .with(&Head { mode: 0o700, ..Head::new(b'5', "d") }, b"")
        .with(&Head { mode: 0o700, ..Head::new(b'0', "d/x") }, b"")
        .end()
        .tgz();
    let modes_of = |root: &Path| [mode_of(&root.join("d")), mode_of(&root.join("d/x"))];
    let kept = source(&archive, Limits::default()).unpack(&around.work, FileModes::Preserve).await.unwrap();
    assert_eq!(modes_of(kept.path()), [0o700, 0o700]);
    let fixed = source(&archive, Limits::default()).unpack(&around.work, FileModes::Fixed).await.unwrap();
    assert_eq!(modes_of(fixed.path())[1] & 0o100, 0, "nothing is executable unless asked for");
    assert_ne!(kept.id(), fixed.id(), "modes are part of a tree's identity");
}

#[tokio::test]
async fn a_wrong_checksum_explains_everything_else() {
    let around = Surroundings::new();
    for tgz in
        [Archive::new().file("a", "x").end().tgz(), Archive::new().file("../a", "x").tgz(), b"junk".to_vec()]
    {
        let correct = source(&tgz, Limits::default());
        let mut metadata = correct.metadata().clone();
        metadata.checksum = metadata.checksum.to_uppercase();
        let chunks = [Ok(bytes::Bytes::from(tgz))];
        let stream = futures_util::stream::iter(chunks);
        let mut wrong = outrigger_source::Source::new(metadata, stream, Limits::default());
        let error = wrong.unpack(&around.work, FileModes::Fixed).await.unwrap_err();
        assert!(matches!(error, SourceError::Checksum { .. }), "{error:?}");
        around.assert_untouched("wrong checksum");
    }
}

#[tokio::test]
async fn limits_are_named() {
    let archive = Archive::new().file("abcdef", "").end().tgz();
    let error = source(&archive, Limits { name_bytes: 5, ..Limits::default() }).scan().await.unwrap_err();
    assert!(matches!(error, SourceError::Limit { kind: LimitKind::NameBytes, allowed: 5 }));
    assert_eq!(error.fault(), outrigger_source::Fault::Limit);
    assert_eq!(error.to_string(), "source has more than 5 bytes in one path: raise the limit or send less");

    let names = (0..40).fold(Archive::new(), |archive, at| {
        archive.pax(&[("path", format!("{at:0>200}").as_bytes())]).file("n", "")
    });
    let error =
        source(&names.end().tgz(), Limits { entries: 100, ..Limits::default() }).scan().await.unwrap_err();
    assert!(
        matches!(error, SourceError::Limit { kind: LimitKind::AllNameBytes, allowed: 6400 }),
        "{error:?}"
    );
}
