//! Any file as a plugin.yaml: no panic, and lint finds an error exactly where reading does.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outrigger_plugin::config::lint::{Severity, lint};
use outrigger_plugin::config::{PluginConfig, parse_announcements};

fuzz_target!(|data: &[u8]| {
    let read = PluginConfig::parse(data);
    let findings = lint(data);
    if let Err(error) = &read {
        assert!(!error.to_string().is_empty());
        assert!(findings.iter().any(|finding| finding.severity == Severity::Error));
    }
    assert!(findings.iter().all(|finding| finding.line > 0 && finding.column > 0));
    let _ = parse_announcements(data);
});
