//! Discovery patterns on a tree, with the answers the original gives.

#![allow(clippy::unwrap_used)] // helpers of tests are tests

mod support;

use outrigger_source::glob::{check_file_name_pattern, check_glob_pattern};
use outrigger_source::{GlobError, Limits, TreeIndex};
use support::{Archive, source};

async fn index(archive: Archive) -> TreeIndex {
    source(&archive.end().tgz(), Limits::default()).scan().await.unwrap().index
}

async fn example() -> TreeIndex {
    index(
        Archive::new()
            .file("apps/web/Chart.yaml", "")
            .file("apps/web/templates/a.yaml", "")
            .file("apps/web/[x]/f", "")
            .file("apps/{a,b}", "")
            .file("apps/web/.hidden", "")
            .file(b"apps/web/\xff.txt", "")
            .link("apps/link", "web")
            .link("apps/up", "..")
            .link("apps/gone", "nowhere")
            .link("apps/loop", "loop"),
    )
    .await
}

#[tokio::test]
async fn file_name_patterns_find_what_a_shell_would() {
    let index = example().await;
    for (app, pattern, expected) in [
        ("apps/web", "Chart.yaml", Ok(true)),
        ("apps/web", "./Chart.yaml", Ok(true)),
        ("apps/web", "*.yaml", Ok(true)),
        ("apps/web", "*.yml", Ok(false)),
        ("apps/web", "*/*.yaml", Ok(true)),
        ("apps/web", "**/a.yaml", Ok(true)),
        ("apps", "**/a.yaml", Ok(false)),
        ("apps", "w?b/Chart.yaml", Ok(true)),
        ("apps/web", "*hidden", Ok(true)),
        ("apps/web", "?.txt", Ok(true)),
        ("apps/web", "../web/Chart.yaml", Ok(true)),
        ("apps/web", "../*/Chart.yaml", Ok(true)),
        ("apps", "link/Chart.yaml", Ok(true)),
        ("apps", "l*/Chart.yaml", Ok(true)),
        ("apps/link", "Chart.yaml", Ok(true)),
        ("apps/up/apps/web", "Chart.yaml", Ok(true)),
        ("apps", "gone", Ok(true)),
        ("apps", "gone/x", Ok(false)),
        ("apps", "loop", Ok(true)),
        ("apps", "loop/*", Ok(false)),
        ("apps/web/[x]", "f", Ok(false)),
        ("apps/web", "\\[x\\]/f", Ok(true)),
        ("apps/web", "[", Err(GlobError::BadPattern)),
        ("apps/web", "[a-", Err(GlobError::BadPattern)),
        ("apps/web", "nothing*[", Ok(false)),
        ("apps/web", "C*[", Err(GlobError::BadPattern)),
        ("missing", "*", Ok(false)),
        ("", "../*", Ok(false)),
        ("", "../../../etc/passwd", Ok(false)),
        ("../../..", "apps", Ok(true)),
    ] {
        assert_eq!(index.match_file_name(app, pattern), expected, "{pattern:?} in {app:?}");
    }
}

#[tokio::test]
async fn find_globs_keep_the_originals_quirks() {
    let index = example().await;
    let env = |name: &str| (name == "SUB").then(|| "\"web\"".to_owned());
    let not_found = || Err(GlobError::NotFound);
    for (app, pattern, expected) in [
        ("apps", "**/Chart.yaml", Ok(true)),
        ("", "**/*.yaml", Ok(true)),
        ("apps/web", "**/Chart.yaml", Ok(true)),
        ("apps/web", "*/Chart.yaml", Ok(false)),
        ("apps/web", "**/nothing", Ok(false)),
        ("apps/web", "Chart.yaml", Ok(true)),
        ("apps/web", "Missing.yaml", not_found()),
        ("apps/web", "Ch?rt.yaml", not_found()),
        ("apps/web", "[C]hart.yaml", not_found()),
        ("apps/web", "[C]hart.y*", Ok(true)),
        ("apps/web", "{Chart,Other}.yaml", Ok(true)),
        ("apps/web", "{Ch*,Other}.yaml", Ok(false)),
        ("apps", "{web/Chart.yaml,x}", Ok(true)),
        ("apps/web", "[!x]hart.y*", Ok(false)),
        ("apps/web", "[^x]hart.y*", Ok(true)),
        ("apps/web", "missing/**", not_found()),
        ("apps", "link/*", Ok(true)),
        ("apps", "*/Chart.yaml", Ok(true)),
        ("apps", "l*/Chart.yaml", Ok(false)),
        ("apps/link", "*.yaml", Ok(true)),
        ("apps", "$SUB/*.yaml", Ok(true)),
        ("apps", "$NOPE/*.yaml", Ok(false)),
        ("apps/web", "*.[b-a]", Err(GlobError::BadExpression("invalid character class range".into()))),
        ("apps", "gone", not_found()),
        ("", "../**", Ok(false)),
    ] {
        assert_eq!(index.match_glob(app, pattern, &env), expected, "{pattern:?} in {app:?}");
    }
}

#[test]
fn patterns_can_be_checked_without_a_tree() {
    for good in ["*.yaml", "a\\*", "[a-z]*", "**/x", ""] {
        assert_eq!(check_file_name_pattern(good), Ok(()), "{good}");
        assert_eq!(check_glob_pattern(good), Ok(()), "{good}");
    }
    for bad in ["[", "a*[", "a\\", "[]", "[a-]"] {
        assert_eq!(check_file_name_pattern(bad), Err(GlobError::BadPattern), "{bad}");
    }
    assert!(check_glob_pattern("*[b-a]").is_err());
    assert!(check_glob_pattern("*[\\pL]").is_err());
}

#[tokio::test]
async fn large_directories_are_searched_quickly() {
    let archive = (0..20_000).fold(Archive::new(), |archive, at| archive.file(format!("d/{at:05}"), ""));
    let index = index(archive).await;
    assert_eq!(index.len(), 20_001);
    assert_eq!(index.match_file_name("d", "1999?"), Ok(true));
    assert_eq!(index.match_glob("", "**/19999", &|_| None), Ok(true));
    assert_eq!(index.match_glob("", "**/2xxxx", &|_| None), Ok(false));
}
