//! The commands of the program.

mod bridge;
mod call;
mod contents;
mod doctor;
mod health;
mod http;
pub(crate) mod inspect;
mod list;
mod repl;
mod serve;
mod status;
mod watch;

use std::path::Path;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::{Cli, Command};
use crate::failure::{Code, Failure};
use crate::{answers, lock, login, output};

/// Runs the command. Returns a failure if an elicitation was cancelled, even if the server responded with a success.
pub(crate) async fn run(cli: Cli) -> Result<Code, Failure> {
    let outcome = dispatch(cli).await;
    let Some(cancelled) = answers::take_cancelled() else {
        return outcome;
    };
    match outcome {
        Err(failure) if failure.code != Code::Protocol => Err(failure),
        Err(failure) => {
            output::say(&format!("note: {failure}"));
            Err(cancelled)
        }
        Ok(_) => Err(cancelled),
    }
}

async fn dispatch(cli: Cli) -> Result<Code, Failure> {
    let options = cli.options;
    match cli.command {
        Command::Inspect { words, revisions } => inspect::run(words, revisions, &options).await,
        Command::List { words, search } => list::run(words, search.as_deref(), &options).await,
        Command::Call { words, task } => call::run(words, task, &options).await,
        Command::Read { words } => contents::read(words, &options).await,
        Command::Get { words } => contents::get(words, &options).await,
        Command::Complete { words } => contents::complete(words, &options).await,
        Command::Repl { words } => repl::run(words, &options).await,
        Command::Watch { words } => watch::run(words, &options).await,
        Command::Bridge {
            words,
            listen,
            stdio,
            public_url,
            allow_origin,
            isolated,
        } => {
            let settings = bridge::Settings {
                listen: (!stdio).then_some(listen),
                public_url,
                allow_origin,
                isolated,
            };
            bridge::run(words, settings, &options).await
        }
        Command::Serve {
            file,
            check: true,
            stdio,
        } => serve::check(&file, stdio, &options),
        Command::Serve { file, stdio, .. } => serve::run(&file, stdio, &options).await,
        Command::Status { address } => status::run(&address, &options).await,
        Command::Doctor { words } => doctor::run(words, &options).await,
        Command::Lock {
            words,
            check,
            github,
            only,
            volatile_default,
            file,
        } => {
            let mode = lock::Mode {
                check,
                github,
                only,
                volatile_defaults: volatile_default,
            };
            lock::run(words, &mode, &file, &options).await
        }
        Command::Login { server, sign_in } => login::login(&server, &sign_in, &options).await,
        Command::Logout {
            server,
            forget_client,
        } => login::logout(&server, forget_client, &options).await,
        Command::Completions { shell } => completions(shell).map(|()| Code::Success),
        Command::Man { folder } => man(&folder).map(|()| Code::Success),
    }
}

fn completions(shell: Shell) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "mcp", &mut text);
    output::write(&text)
}

fn man(folder: &Path) -> Result<(), Failure> {
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))
}
