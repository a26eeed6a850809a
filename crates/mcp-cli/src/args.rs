//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use mcp_client::{Negotiation, Revision};

const EXIT_CODES: &str = "\
Exit codes: 0 success, 1 usage, 2 no connection, 3 protocol error, 4 error of the tool, 5 sign-in or answer needed,
6 different from the lock file, 130 interrupted.";

/// Inspects and calls MCP servers, and records their definitions in a lock file.
///
/// SERVER is a URL or the name of a configured server. To start a server as a child process, omit SERVER and append
/// `-- PROGRAM [ARG]...`.
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
    /// The name of the command, for errors.
    #[arg(skip)]
    pub(crate) command: String,
    /// Print JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The protocol revision: auto, sessions (the newest up to 2025-11-25), stateless (since 2026-07-28), or a date such as
    /// 2025-06-18.
    #[arg(
        long,
        alias = "era",
        global = true,
        default_value = "auto",
        value_name = "REVISION"
    )]
    pub(crate) revision: RevisionChoice,
    /// How long to wait for the connection and for each response, in seconds; each progress notification restarts this time.
    #[arg(long, global = true, default_value_t = 60, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) timeout: u64,
    /// Show log messages and stderr of the server.
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// A directory to offer to the server as a root; repeatable.
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) root: Vec<PathBuf>,
    /// A JSON file that answers elicitation requests instead of the terminal. An object answers every request; a list answers
    /// the requests in order. Each object has the values of the form's fields, or is {"action": "decline"} or
    /// {"action": "cancel"}.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) answer: Option<PathBuf>,
    /// The file that configures servers by name. Default: mcp.json and other configuration files in this folder, and the files of
    /// known hosts.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// An environment variable for the program, NAME=VALUE or NAME; repeatable.
    #[arg(long, global = true, value_name = "NAME=VALUE")]
    pub(crate) env: Vec<String>,
    /// An HTTP header for the URL, "Name: value"; repeatable.
    #[arg(long, global = true, value_name = "HEADER")]
    pub(crate) header: Vec<String>,
    /// A file with certificates of additional CAs to trust, in PEM format.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// A file with the certificate that this program presents to servers, in PEM format.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) client_cert: Option<PathBuf>,
    /// A file with the private key of the certificate, in PEM format. Default: the file of --client-cert.
    #[arg(long, global = true, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
    /// The URL of a proxy for requests to other machines, or none. Default: the proxy of the environment variables HTTPS_PROXY,
    /// HTTP_PROXY, ALL_PROXY and NO_PROXY.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) proxy: Option<String>,
    /// Also send the token of --header over http to another machine, although others can read it in transit.
    #[arg(long, global = true)]
    pub(crate) allow_http: bool,
}

/// The choice of the revisions to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RevisionChoice {
    Auto,
    SessionBased,
    Stateless,

    Exactly(Revision),
}

impl Cli {
    /// Reads the command line of the process.
    pub(crate) fn read() -> Result<Self, clap::Error> {
        let matches = Self::command().try_get_matches()?;
        let mut cli = Self::from_arg_matches(&matches)?;
        cli.options.command = matches.subcommand_name().unwrap_or_default().to_owned();
        Ok(cli)
    }
}

impl RevisionChoice {
    /// Returns the newest revision that may be negotiated, and the kind of negotiation.
    pub(crate) fn policy(self) -> (Revision, Negotiation) {
        match self {
            Self::Auto => (Revision::LATEST, Negotiation::Auto),
            Self::SessionBased => (Revision::LATEST_WITH_SESSIONS, Negotiation::SessionBased),
            Self::Stateless => (Revision::LATEST, Negotiation::Stateless),
            Self::Exactly(revision) if revision.is_stateless() => {
                (revision, Negotiation::Stateless)
            }
            Self::Exactly(revision) => (revision, Negotiation::SessionBased),
        }
    }
}

impl FromStr for RevisionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(Self::Auto),
            // Earlier versions used the words `legacy` and `modern`.
            "sessions" | "legacy" => Ok(Self::SessionBased),
            "stateless" | "modern" => Ok(Self::Stateless),
            date => date.parse().map(Self::Exactly).map_err(|_| {
                let known = Revision::ALL
                    .map(|revision| revision.to_string())
                    .join(", ");
                format!("expected auto, sessions, stateless, or one of {known}")
            }),
        }
    }
}

/// The words of a command, and the program of its server.
#[derive(Debug, Args)]
pub(crate) struct Words {
    /// SERVER, followed by the arguments of the command as shown under Usage. Omit SERVER if a program follows `--`.
    #[arg(value_name = "ARGUMENT")]
    pub(crate) words: Vec<String>,
    /// The program of a stdio server, and its arguments.
    #[arg(last = true, value_name = "PROGRAM")]
    pub(crate) program: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the definitions of a server, with warnings.
    #[command(override_usage = "mcp inspect SERVER\n       mcp inspect -- PROGRAM [ARG]...")]
    Inspect {
        #[command(flatten)]
        words: Words,
        /// Connect with each revision, and show which revisions the server supports.
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
        /// Show only items whose name or description contains this text. Case is ignored.
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
    /// Read a resource. Binary content is written unchanged, unless stdout is a terminal.
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
        after_help = "REFERENCE is the name of a prompt or the URI template of a resource. The first argument is completed. Further \
                      arguments give values that the user has already entered."
    )]
    Complete {
        #[command(flatten)]
        words: Words,
    },
    /// Watch for changed lists, changes of the given resources, and log messages. Prints one JSON object per line until Ctrl-C.
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
        after_help = "The bridge translates between revisions: clients of 2026-07-28 can use a server of an earlier revision, and \
                      vice versa. The URL is printed. With --public-url, clients must send a bearer token: the value of \
                      MCP_BRIDGE_TOKEN if it is set, otherwise a random token that is printed. Without --public-url, they must send a \
                      token if MCP_BRIDGE_TOKEN is set."
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
        /// The URL at which clients reach the bridge; required if clients are on other machines or use a reverse proxy. Must be
        /// https, or http with an address of this machine.
        #[arg(long, value_name = "URL", conflicts_with = "stdio")]
        public_url: Option<String>,
        /// An origin (scheme, host and port) whose web pages may use the bridge; repeatable.
        #[arg(long, value_name = "ORIGIN")]
        allow_origin: Vec<String>,
        /// Use a separate connection for each request of a stateless client. By default, stateless clients share connections to
        /// the server, so they also share state that the server keeps for a connection.
        #[arg(long)]
        isolated: bool,
    },
    /// Serve all servers of a configuration file as one server, over HTTP or stdio, in all revisions.
    #[command(
        after_help = "The file has the servers under \"mcpServers\" and settings under \"gateway\". The URL is printed. /healthz and \
                      /readyz are for health checks. After SIGTERM, the gateway accepts no new calls and \
                      waits for running calls. SIGHUP reloads the file; if the file is invalid, the gateway keeps its \
                      configuration. With \"publicUrl\", clients must send a \
                      bearer token: the value of MCP_GATEWAY_TOKEN if it is set, otherwise a random token that is printed. Without \
                      \"publicUrl\", they must send a token if MCP_GATEWAY_TOKEN is set. With \"auth\", they must send a token \
                      of the issuer in \"auth\", or a token that \"auth\" lists. With \"cluster\" and \"publicUrl\", and \
                      without \"auth\", MCP_GATEWAY_TOKEN must be set. MCP_LOG selects what is logged."
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
    /// Show the state of the servers of a running gateway. The exit code is 2 if a required server is not connected.
    Status {
        /// The address of the "metrics" listener of the gateway, such as 127.0.0.1:9464.
        address: String,
    },
    /// Find out why a server does not work.
    #[command(override_usage = "mcp doctor SERVER\n       mcp doctor -- PROGRAM [ARG]...")]
    Doctor {
        #[command(flatten)]
        words: Words,
    },
    /// Write the definitions of a server to a lock file, or compare the definitions with the file.
    #[command(
        override_usage = "mcp lock SERVER [--check]\n       mcp lock [--check] -- PROGRAM [ARG]...",
        after_help = "The resources of a server that serves data change all the time: use --only tools,prompts,templates. --check ignores \
                      kinds that the file does not have."
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
        /// Lock only items of these kinds, separated by commas: tools, prompts, resources, templates. Default: the kinds that the
        /// file already has for this server; for a new server, all kinds.
        #[arg(long, value_name = "KINDS", value_delimiter = ',')]
        only: Vec<ListKind>,
        /// Ignore the default of an argument, if the default changes each time; repeatable. The file keeps this choice.
        #[arg(long, value_name = "TOOL:ARGUMENT", conflicts_with = "check")]
        volatile_default: Vec<String>,
        /// The lock file.
        #[arg(long, default_value = "mcp.lock", value_name = "FILE")]
        file: PathBuf,
    },
    /// Sign in to a server with the browser, and store the tokens.
    #[command(
        after_help = "If the browser runs on another machine, it cannot open the last page, which is on this machine. Paste the \
                      address of that page here, or forward the port of --callback-port with `ssh -L PORT:127.0.0.1:PORT`."
    )]
    Login {
        /// The URL or configured name of the server.
        server: String,
        #[command(flatten)]
        sign_in: SignInOptions,
    },
    /// Revoke and remove the stored tokens of a server. If the authorization server cannot revoke tokens, the tokens may stay
    /// valid until they expire.
    Logout {
        /// The URL or configured name of the server.
        server: String,
        /// Also remove the client id that the authorization server has issued, for example because the authorization server no
        /// longer knows it. The next login registers the client again.
        #[arg(long)]
        forget_client: bool,
    },
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Write a manual page for each command.
    Man {
        /// The folder for the manual pages; it must exist.
        folder: PathBuf,
    },
}

/// Options of `mcp login`.
#[derive(Debug, Args)]
pub(crate) struct SignInOptions {
    /// Print the address instead of opening the browser.
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// The scopes to request, separated by spaces. Default: the scopes that the server suggests.
    #[arg(long, value_name = "SCOPES")]
    pub(crate) scope: Option<String>,
    /// The id of a client that is registered with the authorization server and has no secret. By default, the client registers
    /// itself.
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// The port of the page to which the browser returns. By default, any free port.
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) callback_port: Option<u16>,
}

/// The kind of items that `list` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ListKind {
    Tools,
    Prompts,
    Resources,
    Templates,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_former_revision_option_and_its_values_are_accepted() {
        for (word, expected) in [
            ("legacy", RevisionChoice::SessionBased),
            ("modern", RevisionChoice::Stateless),
        ] {
            let cli = Cli::try_parse_from(["mcp", "inspect", "--era", word]).unwrap();
            assert_eq!(cli.options.revision, expected);
        }
    }
}
