//! plugin.yaml on disk: where it is, and whether it changed.
//!
//! The file is looked at once a second instead of watched: a mounted ConfigMap changes by swapping a
//! symbolic link two levels above, which file events do not tell reliably.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use outrigger_plugin::config::PluginConfig;

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);
/// A plugin.yaml is small; what is larger is something else.
const LARGEST: u64 = 4 << 20;

/// The file, and what was in it when it was last read.
pub(crate) struct ConfigFile {
    path: PathBuf,
    seen: Option<Vec<u8>>,
}

impl ConfigFile {
    /// The plugin.yaml in `dir`.
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self { path: dir.join("plugin.yaml"), seen: None }
    }

    /// Reads and checks the file.
    pub(crate) fn load(&mut self) -> Result<PluginConfig> {
        let bytes = read(&self.path);
        self.seen = bytes.as_ref().ok().cloned();
        parse(&self.path, &bytes?)
    }

    /// Waits until the file holds something else, then reads and checks that.
    pub(crate) async fn changed(&mut self) -> Result<PluginConfig> {
        loop {
            tokio::time::sleep(INTERVAL).await;
            let bytes = read(&self.path);
            let now = bytes.as_ref().ok();
            if now != self.seen.as_ref() {
                self.seen = now.cloned();
                return parse(&self.path, &bytes?);
            }
        }
    }
}

/// Reads and checks a plugin.yaml.
pub(crate) fn load(path: &Path) -> Result<PluginConfig> {
    parse(path, &read(path)?)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let problem = || format!("cannot read {}", path.display());
    let metadata = std::fs::metadata(path).with_context(problem)?;
    anyhow::ensure!(metadata.is_file(), "{} is not a file", path.display());
    let length = metadata.len();
    anyhow::ensure!(length <= LARGEST, "{} has {length} bytes; that is no plugin.yaml", path.display());
    std::fs::read(path).with_context(problem)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<PluginConfig> {
    PluginConfig::parse(bytes).with_context(|| format!("{} cannot be used", path.display()))
}
