//! Any output of a command: no panic, and what is accepted reads back as itself.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outrigger_plugin::documents::split;

fuzz_target!(|data: &[u8]| {
    let Ok(documents) = split(data) else { return };
    for document in documents {
        assert!(!document.is_empty() && document != "null");
        if document.starts_with('{') {
            assert_eq!(split(document.as_bytes()).unwrap(), [document]);
        }
    }
});
