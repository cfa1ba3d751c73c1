//! What can be typed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use outrigger_plugin::duration;
use outrigger_plugin::serve::Endpoint;
use outrigger_source::Limits;
use tracing::level_filters::LevelFilter;

use crate::places;
use crate::size::Bytes;

/// Argo CD config management plugins as ordinary services.
#[derive(Debug, Parser)]
#[command(name = "outrigger", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The plugin server under its upstream name.
#[derive(Debug, Parser)]
#[command(
    name = "argocd-cmp-server",
    version,
    about = "Config management plugin server (Outrigger), a drop-in for Argo CD's argocd-cmp-server",
    max_term_width = 100
)]
pub struct CmpServer {
    /// The server's options.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the plugin of a plugin.yaml, as argocd-cmp-server does
    Serve(Box<ServeArgs>),
    /// Start a plugin server with a bundled sample, render it as Argo CD would, and show how
    Demo(DemoArgs),
    /// Render an application directory with a plugin, without Argo CD
    Render(RenderArgs),
    /// Tell whether a plugin claims an application directory: exit code 0 yes, 1 no, 2 no answer
    Match(TreeArgs),
    /// Show the parameters a plugin announces for an application directory
    Params(ParamsArgs),
    /// Check a plugin.yaml: errors, and traps where Argo CD does not do what one expects
    Lint(LintArgs),
    /// Print the JSON Schema of plugin.yaml, for editors
    Schema,
    /// Ask a plugin server whether it serves; for probes
    Healthcheck(HealthArgs),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Write man pages into a directory
    Man {
        /// The directory; made if missing
        #[arg(value_name = "DIR")]
        dir: PathBuf,
    },
}

/// `outrigger serve` and `argocd-cmp-server`.
#[derive(Debug, Clone, Args)]
pub struct ServeArgs {
    /// Directory that holds plugin.yaml
    #[arg(long, value_name = "DIR", default_value = places::CONFIG_DIR)]
    pub config_dir_path: PathBuf,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub log: LogArgs,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub otlp: OtlpArgs,
    /// Listen here too: HOST:PORT, :PORT or unix:PATH; may be repeated. The plugin's own socket stays in
    /// $ARGOCD_PLUGINSOCKFILEPATH, where that directory exists. Plaintext: keep it inside a network you trust
    #[arg(long, value_name = "ADDRESS", env = "OUTRIGGER_LISTEN", value_delimiter = ',')]
    pub listen: Vec<Endpoint>,
    /// Serve /metrics, /healthz and /readyz here; off unless given
    #[arg(long, value_name = "HOST:PORT", env = "OUTRIGGER_HTTP", value_parser = tcp_address)]
    pub http: Option<String>,
    /// How many calls may hold a tree and run commands at once; 0: as many as come
    #[arg(long, value_name = "N", env = "OUTRIGGER_PARALLELISM", default_value_t = 0)]
    pub parallelism: usize,
    /// How long running renders may go on after SIGTERM
    #[arg(long, value_name = "DURATION", env = "OUTRIGGER_GRACE_PERIOD", default_value = "25s", value_parser = duration::parse)]
    pub grace_period: Duration,
    /// The largest output of a command
    #[arg(long, value_name = "BYTES", env = "OUTRIGGER_MAX_OUTPUT_BYTES", default_value = "256Mi")]
    pub max_output_bytes: Bytes,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub limits: LimitArgs,
}

/// Bounds on what callers send. The defaults pass a repository of 5 GB.
#[derive(Debug, Clone, Args)]
pub struct LimitArgs {
    /// The largest source, unpacked
    #[arg(long, value_name = "BYTES", env = "OUTRIGGER_MAX_SOURCE_BYTES", default_value_t = Bytes(Limits::default().source_bytes))]
    pub max_source_bytes: Bytes,
    /// The largest source as it travels, compressed
    #[arg(long, value_name = "BYTES", env = "OUTRIGGER_MAX_WIRE_BYTES", default_value_t = Bytes(Limits::default().wire_bytes))]
    pub max_wire_bytes: Bytes,
    /// The most files, directories and links of a source
    #[arg(long, value_name = "N", env = "OUTRIGGER_MAX_SOURCE_ENTRIES", default_value_t = Limits::default().entries)]
    pub max_source_entries: u64,
    /// The largest file of a source
    #[arg(long, value_name = "BYTES", env = "OUTRIGGER_MAX_FILE_BYTES", default_value_t = Bytes(Limits::default().file_bytes))]
    pub max_file_bytes: Bytes,
    /// The longest path inside a source
    #[arg(long, value_name = "BYTES", env = "OUTRIGGER_MAX_NAME_BYTES", default_value_t = Limits::default().name_bytes)]
    pub max_name_bytes: usize,
    /// The deepest directory inside a source
    #[arg(long, value_name = "N", env = "OUTRIGGER_MAX_DEPTH", default_value_t = Limits::default().depth)]
    pub max_depth: usize,
}

impl From<&LimitArgs> for Limits {
    fn from(args: &LimitArgs) -> Self {
        Self {
            source_bytes: args.max_source_bytes.0,
            wire_bytes: args.max_wire_bytes.0,
            entries: args.max_source_entries,
            file_bytes: args.max_file_bytes.0,
            name_bytes: args.max_name_bytes,
            depth: args.max_depth,
        }
    }
}

/// Upstream's log flags.
#[derive(Debug, Clone, Args)]
pub struct LogArgs {
    /// Log format
    #[arg(long, value_name = "json|text", env = "ARGOCD_CMP_SERVER_LOGFORMAT", default_value = "json", value_parser = log_format)]
    pub logformat: LogFormat,
    /// Log level
    #[arg(long, value_name = "trace|debug|info|warn|error", env = "ARGOCD_CMP_SERVER_LOGLEVEL", default_value = "info", value_parser = log_level)]
    pub loglevel: LevelFilter,
}

/// How a log line looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogFormat {
    /// One JSON object per line
    Json,
    /// key=value pairs
    Text,
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    match text.to_lowercase().as_str() {
        "json" => Ok(LogFormat::Json),
        "text" => Ok(LogFormat::Text),
        _ => Err(format!("{text:?} is neither json nor text")),
    }
}

fn log_level(text: &str) -> Result<LevelFilter, String> {
    match text.to_lowercase().as_str() {
        "trace" => Ok(LevelFilter::TRACE),
        "debug" => Ok(LevelFilter::DEBUG),
        "info" => Ok(LevelFilter::INFO),
        "warn" | "warning" => Ok(LevelFilter::WARN),
        "error" | "fatal" | "panic" => Ok(LevelFilter::ERROR),
        _ => Err(format!("{text:?} is none of trace, debug, info, warn, error")),
    }
}

fn tcp_address(text: &str) -> Result<String, String> {
    match text.parse()? {
        Endpoint::Tcp(address) => Ok(address),
        Endpoint::Unix(_) => Err(format!("{text:?} is a socket; write HOST:PORT or :PORT")),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(ratio) if (0.0..=1.0).contains(&ratio) => Ok(ratio),
        _ => Err(format!("{text:?} is not a number from 0 to 1")),
    }
}

/// Upstream's trace flags.
#[derive(Debug, Clone, Args)]
pub struct OtlpArgs {
    /// OpenTelemetry collector to send traces to, HOST:PORT
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "ARGOCD_CMP_SERVER_OTLP_ADDRESS",
        default_value = "",
        hide_default_value = true
    )]
    pub otlp_address: String,
    /// Speak plaintext to the collector
    #[arg(long, value_name = "BOOL", env = "ARGOCD_CMP_SERVER_OTLP_INSECURE", default_value = "true", default_missing_value = "true",
          num_args = 0..=1, require_equals = true, action = ArgAction::Set, value_parser = go_bool)]
    pub otlp_insecure: bool,
    /// Headers for the collector: key1=value1,key2=value2
    #[arg(
        long,
        value_name = "KEY=VALUE",
        env = "ARGOCD_CMP_SERVER_OTLP_HEADERS",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub otlp_headers: Vec<String>,
    /// Attributes of every trace: key:value,key:value
    #[arg(long, value_name = "KEY:VALUE", env = "ARGOCD_CMP_SERVER_OTLP_ATTRS", value_delimiter = ',')]
    pub otlp_attrs: Vec<String>,
    /// The share of traces to record, 0 to 1
    #[arg(long, value_name = "RATIO", env = "ARGOCD_CMP_SERVER_OTLP_SAMPLE_RATIO", default_value = "1", value_parser = ratio)]
    pub otlp_sample_ratio: f64,
}

/// Booleans as Go reads them.
fn go_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("{text:?} is neither true nor false")),
    }
}

/// `outrigger demo`.
#[derive(Debug, Clone, Args)]
pub struct DemoArgs {
    /// Keep the server up until Ctrl-C
    #[arg(long)]
    pub stay: bool,
}

/// An application directory and the plugin to ask about it.
#[derive(Debug, Clone, Args)]
pub struct TreeArgs {
    /// The source tree: the root of the repository
    #[arg(value_name = "DIR", default_value = ".")]
    pub dir: PathBuf,
    /// The application's path inside it
    #[arg(long, value_name = "PATH", default_value = ".")]
    pub app_path: String,
    /// The plugin.yaml; looked for in the current directory, in DIR, and where a plugin image has it
    #[arg(long, value_name = "FILE", conflicts_with = "address")]
    pub plugin: Option<PathBuf>,
    /// Ask a running plugin server instead: HOST:PORT or unix:PATH
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<Endpoint>,
    /// The Application's name [default: the base name of the application's path]
    #[arg(long, value_name = "NAME")]
    pub app_name: Option<String>,
    /// The Application's destination namespace
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// An entry of the Application's plugin.env, NAME=VALUE: the plugin sees ARGOCD_ENV_NAME. Names that
    /// start with ARGOCD_ or KUBE_ replace what Argo CD itself would send
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// A parameter of the Application's plugin.parameters, NAME=VALUE; a JSON list or object makes it an
    /// array or a map
    #[arg(long, value_name = "NAME=VALUE")]
    pub param: Vec<String>,
    /// Give up after this long
    #[arg(long, value_name = "DURATION", default_value = "90s", value_parser = duration::parse)]
    pub timeout: Duration,
}

/// `outrigger render`.
#[derive(Debug, Clone, Args)]
pub struct RenderArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tree: TreeArgs,
    /// How to print the manifests
    #[arg(long, short, value_enum, default_value = "yaml")]
    pub output: ManifestFormat,
}

/// How manifests are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ManifestFormat {
    /// A YAML stream
    Yaml,
    /// A JSON document per line, as Argo CD gets them
    Json,
}

/// `outrigger params`.
#[derive(Debug, Clone, Args)]
pub struct ParamsArgs {
    #[command(flatten)]
    #[allow(missing_docs)]
    pub tree: TreeArgs,
    /// How to print the parameters
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: TableFormat,
}

/// A table for people or JSON for machines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For people
    Table,
    /// For machines
    Json,
}

/// `outrigger lint`.
#[derive(Debug, Clone, Args)]
pub struct LintArgs {
    /// The files to check; - is standard input
    #[arg(value_name = "FILE", default_value = "plugin.yaml")]
    pub files: Vec<PathBuf>,
    /// Fail on warnings too
    #[arg(long)]
    pub strict: bool,
    /// How to print the findings
    #[arg(long, short, value_enum, default_value = "table")]
    pub output: TableFormat,
}

/// `outrigger healthcheck`.
#[derive(Debug, Clone, Args)]
pub struct HealthArgs {
    /// The server: HOST:PORT or unix:PATH [default: the socket that `serve` makes with this plugin.yaml]
    #[arg(value_name = "ADDRESS")]
    pub address: Option<Endpoint>,
    /// Directory that holds plugin.yaml, to find the socket
    #[arg(long, value_name = "DIR", default_value = places::CONFIG_DIR)]
    pub config_dir_path: PathBuf,
    /// Give up after this long
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = duration::parse)]
    pub timeout: Duration,
}
