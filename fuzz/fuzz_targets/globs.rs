//! Any pattern on any name and in any directory of a small tree: no panic, no endless search, and a file name
//! pattern that the linter accepts is accepted by the matcher too.
#![no_main]

use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use outrigger_source::glob::{check_file_name_pattern, check_glob_pattern, go_match};
use outrigger_source::pack::pack_to_source;
use outrigger_source::{Limits, TreeIndex};

fn index() -> &'static TreeIndex {
    static INDEX: OnceLock<TreeIndex> = OnceLock::new();
    INDEX.get_or_init(|| {
        let dir = std::env::temp_dir().join(format!("outrigger-fuzz-globs-{}", std::process::id()));
        for (name, target) in [("a/b/c.yaml", None), ("a/[x]/d.yml", None), ("loop", Some("loop")), ("up", Some("a/b"))] {
            let path = dir.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            match target {
                Some(target) => std::os::unix::fs::symlink(target, path).unwrap(),
                None => std::fs::write(path, "").unwrap(),
            }
        }
        let mut source = pack_to_source(&dir, ".", vec![], vec![], Limits::default()).unwrap();
        std::fs::remove_dir_all(&dir).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(source.scan()).unwrap().index
    })
}

fuzz_target!(|input: (&str, &str, &str)| {
    let (pattern, name, app) = input;
    let _ = go_match(pattern, name);
    let _ = check_glob_pattern(pattern);
    let well_formed = check_file_name_pattern(pattern).is_ok();
    // What is joined and cleaned is another pattern; a single name is not.
    if well_formed && !pattern.contains('/') {
        assert!(index().match_file_name(".", pattern).is_ok());
    }
    let _ = index().match_file_name(app, pattern);
    let _ = index().match_glob(app, pattern, &|variable| (variable == "HOME").then(|| name.to_owned()));
});
