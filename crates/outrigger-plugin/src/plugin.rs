//! The one idea: everything that renders is a [`Plugin`].

use std::sync::Arc;

use outrigger_source::Source;

use crate::call::Call;
use crate::config::ParameterAnnouncement;
use crate::error::RenderError;

/// Answers four questions about an application's source tree: how are you configured, is this tree yours,
/// which parameters do you take, what manifests do you make of it.
///
/// A [`Source`] is consumed at most once, and only as far as the answer needs; whoever serves the plugin
/// drains the rest. An implementation ends what it started when its future is dropped.
pub trait Plugin: Send + Sync + 'static {
    /// How the plugin is configured now.
    fn describe(&self) -> Arc<Description>;

    /// Whether the tree is this plugin's.
    fn matches(
        &self,
        call: &Call,
        source: &mut Source,
    ) -> impl Future<Output = Result<Match, RenderError>> + Send;

    /// Which parameters the plugin takes for this tree.
    fn parameters(
        &self,
        call: &Call,
        source: &mut Source,
    ) -> impl Future<Output = Result<Vec<ParameterAnnouncement>, RenderError>> + Send;

    /// The manifests of the application: one JSON text each.
    fn generate(
        &self,
        call: &Call,
        source: &mut Source,
    ) -> impl Future<Output = Result<Vec<String>, RenderError>> + Send;
}

/// How a plugin is configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The plugin's name as applications give it: `name`, or `name-version`.
    pub name: String,
    /// A digest that changes with the configuration.
    pub digest: String,
    /// Whether the plugin can say which trees are its own.
    pub discovers: bool,
    /// Whether the plugin wants git credentials with the source.
    pub wants_git_credentials: bool,
}

/// The answer to "is this tree yours?".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// The tree is the plugin's.
    pub supported: bool,
    /// The plugin has a discovery rule at all.
    pub discovers: bool,
}
