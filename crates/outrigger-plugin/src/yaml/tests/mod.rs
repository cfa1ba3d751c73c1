//! Inputs with the JSON text that the reference makes of them, or `None` where it refuses them.

mod hostile;
mod keys;
mod layout;
mod marks;
mod scalars;

use super::{json_limit, to_json};

fn json(input: &[u8]) -> Option<String> {
    to_json(input, json_limit(input.len())).ok()
}

fn check(cases: &[(&[u8], Option<&str>)]) {
    for (input, expected) in cases {
        let actual = to_json(input, json_limit(input.len()));
        let shown = String::from_utf8_lossy(input);
        assert_eq!(actual.as_deref().ok(), *expected, "{shown:?} gave {actual:?}");
    }
}
