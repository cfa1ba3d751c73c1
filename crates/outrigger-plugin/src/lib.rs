//! Write, run and serve config management plugins of Argo CD.
//!
//! Everything that renders is a [`Plugin`]; [`CommandPlugin`] is the one that runs the commands of a
//! `plugin.yaml`, and [`serve`] puts any of them behind Argo CD's gRPC protocol.

pub mod call;
pub mod command;
mod command_plugin;
pub mod config;
pub mod documents;
pub mod duration;
mod error;
mod janitor;
pub mod metrics;
mod plugin;
pub mod serve;
mod workspace;
pub mod yaml;

pub use call::{Call, Phase, Report};
pub use command_plugin::{CommandPlugin, Equipment};
pub use error::RenderError;
pub use janitor::Janitor;
pub use plugin::{Description, Match, Plugin};
