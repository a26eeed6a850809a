//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mcp_client::{Negotiation, Revision};

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 usage, 2 no connection, 3 protocol error, 4 error of the tool, 5 sign-in or answer needed,
6 different from the lock file, 130 interrupted.";

/// Inspects and calls MCP servers, and records their definitions in a lock file.
///
/// A server is a URL or the name of a configured server, as the first word after the command, or a program and its
/// arguments, after `--`.
#[derive(Debug, Parser)]
#[command(name = "mcp", version, after_help = EXIT_CODES, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) options: Options,
}

/// Options of all commands.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Options {
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The revision: auto, legacy (up to 2025-11-25), modern (since 2026-07-28), or a date.
    #[arg(long, global = true, default_value = "auto", value_name = "ERA")]
    pub(crate) era: EraChoice,
    /// How long to wait for the connection and for each response, in seconds; each progress notification restarts it.
    #[arg(long, global = true, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Show log messages and stderr of the server.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// A directory to offer to the server as a root; repeatable.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// A JSON file with answers to elicitations, instead of the terminal: an object, or a list of objects.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) answer: Option<PathBuf>,
    /// The file that configures servers by name. Default: mcp.json and the other files of this folder, and those of known hosts.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// An environment variable for the program, NAME=VALUE or NAME; repeatable.
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// An HTTP header for the URL, "Name: value"; repeatable.
    #[arg(long, global = true, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
}

/// Which revisions to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EraChoice {
    Auto,
    Legacy,
    Modern,
    Exactly(Revision),
}

impl EraChoice {
    /// The newest revision, and how to find it out.
    pub(crate) fn policy(self) -> (Revision, Negotiation) {
        match self {
            Self::Auto => (Revision::LATEST, Negotiation::Auto),
            Self::Legacy => (Revision::LATEST_WITH_SESSIONS, Negotiation::Legacy),
            Self::Modern => (Revision::LATEST, Negotiation::Modern),
            Self::Exactly(revision) if revision.is_stateless() => (revision, Negotiation::Modern),
            Self::Exactly(revision) => (revision, Negotiation::Legacy),
        }
    }
}

impl FromStr for EraChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            "legacy" => Ok(Self::Legacy),
            "modern" => Ok(Self::Modern),
            date => date.parse().map(Self::Exactly).map_err(|_| {
                let known = Revision::ALL
                    .map(|revision| revision.to_string())
                    .join(", ");
                format!("expected auto, legacy, modern, or one of {known}")
            }),
        }
    }
}

/// The words of a command, and the program of the server.
#[derive(Debug, Args)]
pub(crate) struct Words {
    /// The URL or configured name of the server, unless a program follows `--`, and the words shown under Usage.
    #[arg(value_name = "WORD")]
    pub(crate) words: Vec<String>,
    /// The program of the server and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a server offers, with warnings.
    #[command(override_usage = "mcp inspect SERVER\n       mcp inspect -- PROGRAM [ARG]...")]
    Inspect {
        #[command(flatten)]
        words: Words,
        /// Try every revision and show which ones the server speaks.
        #[arg(long)]
        revisions: bool,
    },
    /// List tools, prompts, resources or templates; tools by default.
    #[command(
        override_usage = "mcp list SERVER [tools|prompts|resources|templates]\n       mcp list [KIND] -- PROGRAM [ARG]..."
    )]
    List {
        #[command(flatten)]
        words: Words,
        /// Show only items whose name or description contains this text, ignoring case.
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
    },
    /// Call a tool.
    #[command(
        override_usage = "mcp call SERVER TOOL [ARGUMENT]...\n       mcp call TOOL [ARGUMENT]... -- PROGRAM [ARG]...",
        after_help = "Arguments: name=text, converted to the type in the tool's schema; name=@FILE, the text of a file; name:=JSON; \
                      @FILE, an object with all arguments; - reads it from stdin."
    )]
    Call {
        #[command(flatten)]
        words: Words,
        /// Run the call as a task, if the tool allows it.
        #[arg(long)]
        task: bool,
    },
    /// Read a resource. Binary content is written as it is, unless stdout is a terminal.
    #[command(
        override_usage = "mcp read SERVER RESOURCE\n       mcp read RESOURCE -- PROGRAM [ARG]..."
    )]
    Read {
        #[command(flatten)]
        words: Words,
    },
    /// Get a prompt.
    #[command(
        override_usage = "mcp get SERVER PROMPT [name=text]...\n       mcp get PROMPT [name=text]... -- PROGRAM [ARG]..."
    )]
    Get {
        #[command(flatten)]
        words: Words,
    },
    /// Complete an argument of a prompt, or a variable of a resource template.
    #[command(
        override_usage = "mcp complete SERVER REFERENCE ARGUMENT=START [name=text]...\n       mcp complete REFERENCE ARGUMENT=START [name=text]... -- PROGRAM [ARG]...",
        after_help = "REFERENCE is the name of a prompt or the URI template of a resource. The arguments after the first one are \
                      those that are already known."
    )]
    Complete {
        #[command(flatten)]
        words: Words,
    },
    /// Print changes as lines of JSON until Ctrl-C: lists, the named resources, and log messages.
    #[command(
        override_usage = "mcp watch SERVER [RESOURCE]...\n       mcp watch [RESOURCE]... -- PROGRAM [ARG]..."
    )]
    Watch {
        #[command(flatten)]
        words: Words,
    },
    /// Send requests and notifications by hand, and show what the server sends.
    #[command(override_usage = "mcp repl SERVER\n       mcp repl -- PROGRAM [ARG]...")]
    Repl {
        #[command(flatten)]
        words: Words,
    },
    /// Make a server available over HTTP or stdio, in all revisions.
    #[command(
        override_usage = "mcp bridge SERVER [--listen ADDRESS | --stdio]\n       mcp bridge [--listen ADDRESS | --stdio] -- PROGRAM [ARG]...",
        after_help = "The bridge translates between revisions: a program of 2025 can be used by clients of 2026-07-28, and the \
                      reverse. It prints its URL. With --public-url, clients need a bearer token: that of the variable \
                      MCP_BRIDGE_TOKEN, or a new one, which it prints."
    )]
    Bridge {
        #[command(flatten)]
        words: Words,
        /// The address for HTTP. The path is /mcp.
        #[arg(
            long,
            default_value = "127.0.0.1:8000",
            value_name = "ADDRESS",
            conflicts_with = "stdio"
        )]
        listen: String,
        /// Serve stdin and stdout instead of HTTP.
        #[arg(long)]
        stdio: bool,
        /// The URL that clients use, if they reach the bridge from beyond this machine or through a proxy: https, or an
        /// address of this machine.
        #[arg(long, value_name = "URL", conflicts_with = "stdio")]
        public_url: Option<String>,
        /// An origin (scheme, host and port) whose web pages may use the bridge; repeatable.
        #[arg(long, value_name = "ORIGIN")]
        allow_origin: Vec<String>,
        /// Open a connection to the server for each request of a stateless client, instead of one for all of them.
        #[arg(long)]
        isolated: bool,
    },
    /// Serve the servers of a configuration file as one, over HTTP or stdio, in all revisions.
    #[command(
        after_help = "The file has the servers under \"mcpServers\" and settings under \"gateway\". The URL is printed. /healthz and \
                      /readyz are for health checks. SIGTERM ends the gateway after its running calls; SIGHUP reads the file again, and \
                      a file with an error changes nothing. With \"publicUrl\", clients need a bearer token: that of the variable \
                      MCP_GATEWAY_TOKEN, or a new one, which is printed."
    )]
    Serve {
        /// The configuration file.
        file: PathBuf,
        /// Check the file, and start nothing.
        #[arg(long)]
        check: bool,
        /// Serve stdin and stdout instead of HTTP.
        #[arg(long)]
        stdio: bool,
    },
    /// Find out why a server does not work.
    #[command(override_usage = "mcp doctor SERVER\n       mcp doctor -- PROGRAM [ARG]...")]
    Doctor {
        #[command(flatten)]
        words: Words,
    },
    /// Write the definitions of a server to a lock file, or compare them with it.
    #[command(
        override_usage = "mcp lock SERVER [--check]\n       mcp lock [--check] -- PROGRAM [ARG]..."
    )]
    Lock {
        #[command(flatten)]
        words: Words,
        /// Compare, and write nothing. The exit code is 6 if there is a difference.
        #[arg(long)]
        check: bool,
        /// Print the differences as annotations of GitHub Actions.
        #[arg(long)]
        github: bool,
        /// The lock file.
        #[arg(long, default_value = "mcp.lock", value_name = "FILE")]
        file: PathBuf,
    },
    /// Sign in to a server with the browser, and store the tokens.
    Login {
        /// The URL or configured name of the server.
        server: String,
        /// Print the address instead of opening the browser.
        #[arg(long)]
        no_browser: bool,
    },
    /// Remove the stored tokens of a server, and revoke them if the authorization server supports it.
    Logout {
        /// The URL or configured name of the server.
        server: String,
    },
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write a manual page for each command.
    Man {
        /// The folder, which must exist.
        folder: PathBuf,
    },
}

/// The kind of items that `list` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}
