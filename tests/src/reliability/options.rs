//! The command line.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::bench::Fault;

pub(super) const USAGE: &str = "usage: reliability
  server [--http ADDRESS] [--memory BYTES] [--redis URL]
  cluster [--kills N] [--client NAME=COMMAND]...
  steady URL
  bridge --mcp PROGRAM [--minutes N] [--calls N] [--sessions N] [--kill-seconds N] [--seed N]
  soak [--minutes N] [--sessions N] [--seed N]
  chaos [--cuts N] [--kills N] [--seed N]
  overload [--seconds N]
  budget [--memory BYTES | --mcp PROGRAM] [--addresses N]
  user URL";

/// The options of a program.
pub(super) struct Options {
    pub(super) words: Vec<String>,
}

impl Options {
    pub(super) fn new(words: impl Iterator<Item = String>) -> Self {
        Self {
            words: words.collect(),
        }
    }

    /// The value of an option.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The values of an option that is repeated.
    pub(super) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let pairs = self.words.windows(2).filter(move |pair| pair[0] == name);
        pairs.map(|pair| &*pair[1])
    }

    /// The value of a number, or its default.
    pub(super) fn number(&self, name: &str, default: u64) -> Result<u64, Fault> {
        self.value(name).map_or(Ok(default), |text| {
            let number = text.parse();
            number.map_err(|error| format!("{name} {text}: {error}").into())
        })
    }

    /// The seed, which is printed because it repeats the decisions of a run.
    pub(super) fn seed(&self) -> Result<u64, Fault> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
        let seed = self.number("--seed", now.subsec_nanos().into())?;
        eprintln!("the seed is {seed}");
        Ok(seed)
    }
}
