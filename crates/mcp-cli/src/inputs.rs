//! Finds the values of `${input:id}` in a configuration: from an environment variable, or from the user.

use std::io::{self, IsTerminal as _};

use mcp_host::ConfigInput;

use crate::failure::Failure;
use crate::output::{one_line, say};

/// The prefix of the environment variables that contain values of inputs.
const PREFIX: &str = "MCP_INPUT_";
/// Maximum number of times that the user is asked for one of the possible values.
const MAX_ATTEMPTS: usize = 3;
/// Maximum number of possible values that the user is shown.
const MAX_SHOWN_OPTIONS: usize = 20;
/// Maximum number of characters of a description or value that the user is shown.
const MAX_SHOWN_CHARS: usize = 60;

/// Returns the value of an input, from its environment variable or from the user at the terminal. If the value is secret, the
/// terminal does not show it.
pub(crate) fn input_value(input: &ConfigInput) -> Result<String, Failure> {
    let name = variable(input.id());
    let failed = |problem: String| {
        Failure::usage(format!("the value of the input {:?} {problem}", input.id()))
    };
    match std::env::var(&name) {
        Ok(value) => return Ok(value),
        Err(std::env::VarError::NotPresent) => {}
        Err(error) => return Err(failed(format!("cannot be read from {name}: {error}"))),
    }
    if !(io::stdin().is_terminal() && io::stderr().is_terminal()) {
        return Err(failed(format!(
            "is missing, and there is no terminal to ask for it; set the environment variable {name}"
        )));
    }
    if !input.options().is_empty() {
        let options = input.options().iter().take(MAX_SHOWN_OPTIONS);
        let options: Vec<String> = options.map(|option| short(option)).collect();
        let more = match input.options().len() - options.len() {
            0 => String::new(),
            more => format!(", and {more} more"),
        };
        say(&format!("one of: {}{more}", options.join(", ")));
    }
    for _ in 0..MAX_ATTEMPTS {
        let entered = ask(input).map_err(|error| failed(format!("cannot be read: {error}")))?;
        let value = match (&*entered, input.default_value()) {
            ("", Some(default)) => default.to_owned(),
            _ => entered,
        };
        if input.options().is_empty() || input.options().contains(&value) {
            return Ok(value);
        }
        say("this value is not possible");
    }
    Err(failed("is not one of the possible values".to_owned()))
}

fn ask(input: &ConfigInput) -> io::Result<String> {
    // The text is from the file, and must not look like a prompt of another program.
    let mut prompt = match input.description() {
        Some(text) => format!("input {:?}: {}", input.id(), short(text)),
        None => format!("input {:?}", input.id()),
    };
    if let Some(default) = input.default_value().filter(|_| !input.is_secret()) {
        prompt += &format!(" [{}]", short(default));
    }
    if input.is_secret() {
        return rpassword::prompt_password(format!("{prompt}: "));
    }
    say(&format!("{prompt}:"));
    let line = io::stdin().lines().next();
    line.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into()))
}

/// Returns the beginning of a text from a file, on one line. With more lines, a part of the text could look like the prompt of
/// another program.
fn short(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    let mut short: String = text.chars().take(MAX_SHOWN_CHARS).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    one_line(&short)
}

/// Returns the name of the environment variable that can contain the value of an input.
fn variable(id: &str) -> String {
    let plain = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_ascii_uppercase(),
        false => '_',
    };
    id.chars()
        .map(plain)
        .fold(PREFIX.to_owned(), |mut name, c| {
            name.push(c);
            name
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_shown_on_at_most_one_line() {
        let spaces = " ".repeat(70);
        let text = format!("x{spaces}[sudo] password\u{202e}\r\nfor root: ");
        assert_eq!(short(&text), "x [sudo] password\u{fffd} for root:");
        assert_eq!(short(&"ä".repeat(60)), "ä".repeat(60));
        assert_eq!(short(&"ä".repeat(61)), "ä".repeat(60) + "…");
    }

    #[test]
    fn the_environment_variable_of_an_input_is_named_after_its_id() {
        for (id, name) in [
            ("key", "MCP_INPUT_KEY"),
            ("perplexity-key.2", "MCP_INPUT_PERPLEXITY_KEY_2"),
            ("", "MCP_INPUT_"),
            ("\u{e9}", "MCP_INPUT__"),
        ] {
            assert_eq!(variable(id), name);
        }
    }
}
