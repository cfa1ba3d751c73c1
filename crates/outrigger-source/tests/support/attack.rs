//! The frame of the attack corpus: a case, what must come of it, and what must not change meanwhile.

use outrigger_source::{FileModes, Limits, WorkDir};

use crate::support::{Archive, shape_of_index, shape_on_disk, source};

/// What an archive must lead to.
pub(crate) enum Answer {
    /// Accepted, with exactly these paths: `f`, `d`, or `l <target>`.
    Tree(&'static [(&'static str, &'static str)]),
    /// Refused, with an error whose `Debug` output starts like this.
    Refused(&'static str),
}

pub(crate) use Answer::{Refused, Tree};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) tgz: Vec<u8>,
    pub(crate) limits: Limits,
    pub(crate) modes: FileModes,
    pub(crate) answer: Answer,
}

pub(crate) fn case(name: &'static str, archive: Archive, answer: Answer) -> Case {
    raw(name, archive.end().tgz(), answer)
}

pub(crate) fn raw(name: &'static str, tgz: Vec<u8>, answer: Answer) -> Case {
    Case { name, tgz, limits: Limits::default(), modes: FileModes::Fixed, answer }
}

pub(crate) fn preserving(case: Case) -> Case {
    Case { modes: FileModes::Preserve, ..case }
}

pub(crate) fn limited(case: Case, change: impl FnOnce(&mut Limits)) -> Case {
    let mut limits = case.limits;
    change(&mut limits);
    Case { limits, ..case }
}

/// A directory with files that no archive may touch, and the work directory inside it.
pub(crate) struct Surroundings {
    pub(crate) outside: tempfile::TempDir,
    pub(crate) work: WorkDir,
}

impl Surroundings {
    pub(crate) fn new() -> Self {
        let outside = tempfile::tempdir().unwrap();
        for canary in ["secret", "base/secret", "base/_cmp_server/secret"] {
            let path = outside.path().join(canary);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, canary).unwrap();
        }
        let work = WorkDir::open(outside.path().join("base")).unwrap();
        Self { outside, work }
    }

    pub(crate) fn assert_untouched(&self, case: &str) {
        let shape = shape_on_disk(self.outside.path());
        let names: Vec<String> =
            shape.keys().map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        assert_eq!(
            names,
            ["base", "base/_cmp_server", "base/_cmp_server/secret", "base/secret", "secret"],
            "{case}"
        );
        for canary in ["secret", "base/secret", "base/_cmp_server/secret"] {
            assert_eq!(std::fs::read_to_string(self.outside.path().join(canary)).unwrap(), canary, "{case}");
        }
    }
}

pub(crate) async fn check(cases: Vec<Case>) {
    let around = Surroundings::new();
    for case in cases {
        let name = case.name;
        let scanned = source(&case.tgz, case.limits).scan_for(case.modes).await;
        around.assert_untouched(name);
        let unpacked = source(&case.tgz, case.limits).unpack(&around.work, case.modes).await;
        match (case.answer, scanned, unpacked) {
            (Tree(expected), Ok(scanned), Ok(tree)) => {
                let shape = shape_on_disk(tree.path());
                let shown: Vec<(String, String)> = shape
                    .iter()
                    .map(|(path, kind)| {
                        (String::from_utf8_lossy(path).into(), String::from_utf8_lossy(kind).into())
                    })
                    .collect();
                let shown: Vec<(&str, &str)> =
                    shown.iter().map(|(path, kind)| (path.as_str(), kind.as_str())).collect();
                assert_eq!(shown, expected, "{name}");
                assert_eq!(shape_of_index(&scanned.index), shape, "{name}: scan and unpack differ");
                tree.remove().unwrap();
            }
            (Refused(expected), Err(scan), Err(unpack)) => {
                assert!(format!("{scan:?}").starts_with(expected), "{name}: scan says {scan:?}");
                assert_eq!(format!("{scan:?}"), format!("{unpack:?}"), "{name}: scan and unpack differ");
            }
            (_, scanned, unpacked) => panic!("{name}: scan {scanned:?}, unpack {unpacked:?}"),
        }
        around.assert_untouched(name);
    }
}
