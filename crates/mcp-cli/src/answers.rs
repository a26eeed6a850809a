//! Answers to the elicitations of a server: from the user at the terminal, or from a file.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use mcp_client::types::{ElicitAction, ElicitResult, FormProperties, RequestedSchema};
use mcp_client::{ClientBuilder, ElicitForm, ElicitUrl};
use mcp_protocol::form;
use serde_json::{Map, Value};
use url::Url;

use crate::arguments::{text_of_file, typed};
use crate::failure::Failure;
use crate::output::{one_line, say, say_text};

/// Where answers to elicitations come from.
#[derive(Debug)]
pub(crate) struct Answers {
    source: Source,
    /// The message of the first elicitation without an answer.
    unanswered: Mutex<Option<String>>,
}

#[derive(Debug)]
enum Source {
    Terminal,
    /// The same answer for every elicitation.
    Always(Value),
    /// One answer for each elicitation, in order.
    Each(Mutex<VecDeque<Value>>),
    /// There is neither a file nor a terminal.
    Missing,
}

impl Answers {
    /// Answers from a file, else from the terminal if there is one.
    pub(crate) fn load(file: Option<&Path>) -> Result<Arc<Self>, Failure> {
        let source = match file {
            Some(file) => Self::read(file)?,
            None if io::stdin().is_terminal() && io::stderr().is_terminal() => Source::Terminal,
            None => Source::Missing,
        };
        let unanswered = Mutex::default();
        Ok(Arc::new(Self { source, unanswered }))
    }

    fn read(file: &Path) -> Result<Source, Failure> {
        let problem = |why: String| Failure::usage(format!("--answer {}: {why}", file.display()));
        let text = text_of_file(file).map_err(|error| problem(error.to_string()))?;
        match mcp_jsonrpc::decode_document(&text).map_err(|error| problem(error.to_string()))? {
            Value::Array(all) if all.iter().all(Value::is_object) => {
                Ok(Source::Each(Mutex::new(all.into())))
            }
            answer @ Value::Object(_) => Ok(Source::Always(answer)),
            _ => Err(problem(
                "expected an object, such as {\"name\": \"Ada\"} or {\"action\": \"decline\"}, or a list of objects".to_owned(),
            )),
        }
    }

    /// Returns the message of the first elicitation without an answer.
    pub(crate) fn unanswered(&self) -> Option<String> {
        let unanswered = self.unanswered.lock();
        unanswered.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn on_forms(this: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let this = Arc::clone(this);
        builder.on_elicit(move |form| {
            let this = Arc::clone(&this);
            async move { this.form(form).await }
        })
    }

    pub(crate) fn on_urls(this: &Arc<Self>, builder: ClientBuilder) -> ClientBuilder {
        let this = Arc::clone(this);
        builder.on_elicit_url(move |url| {
            let this = Arc::clone(&this);
            async move { this.url(url).await }
        })
    }

    async fn form(&self, form: ElicitForm) -> ElicitResult {
        match &self.source {
            Source::Terminal => {
                // Reading the terminal blocks; if the call ends before, the thread ends with the program.
                let asked = tokio::task::spawn_blocking(move || ask(&form));
                asked.await.unwrap_or_else(|_| cancelled())
            }
            _ => match self.next(&form.params.message) {
                None => form.cancel(),
                Some(answer) => stored(answer),
            },
        }
    }

    async fn url(&self, url: ElicitUrl) -> ElicitResult {
        match &self.source {
            Source::Terminal => {
                say_text(&format!("{} asks:", url.server.name), &url.params.message);
                say(&format!("  open {}", as_browsers_read(&url.params.url)));
                let line = tokio::task::spawn_blocking(|| {
                    prompt("press Enter when you have done it, or type n")
                });
                match line.await.ok().flatten() {
                    Some(line) if line.is_empty() => url.accept(),
                    Some(_) => url.decline(),
                    None => url.cancel(),
                }
            }
            _ => match self.next(&url.params.message) {
                None => url.cancel(),
                Some(answer) => stored(answer),
            },
        }
    }

    /// Returns the next answer of the file.
    fn next(&self, question: &str) -> Option<Value> {
        let answer = match &self.source {
            Source::Always(answer) => Some(answer.clone()),
            Source::Each(all) => all
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front(),
            Source::Terminal | Source::Missing => None,
        };
        if answer.is_none() {
            let unanswered = self.unanswered.lock();
            let mut unanswered = unanswered.unwrap_or_else(PoisonError::into_inner);
            unanswered.get_or_insert_with(|| question.to_owned());
        }
        answer
    }
}

/// An answer of the file: a whole result with an action, or the content of an accepted form.
fn stored(answer: Value) -> ElicitResult {
    let action = answer.get("action").and_then(Value::as_str);
    let is_result = matches!(action, Some("accept" | "decline" | "cancel"));
    let result = match is_result {
        true => answer,
        false => serde_json::json!({ "action": "accept", "content": answer }),
    };
    serde_json::from_value(result).unwrap_or_else(|_| cancelled())
}

/// Returns a URL as browsers read it: with the ASCII form of its host, for example.
fn as_browsers_read(text: &str) -> String {
    Url::parse(text).map_or_else(|_| text.to_owned(), String::from)
}

fn cancelled() -> ElicitResult {
    ElicitResult::new(ElicitAction::Cancel)
}

/// Asks the user for each field of a form.
fn ask(form: &ElicitForm) -> ElicitResult {
    say_text(&format!("{} asks:", form.server.name), &form.params.message);
    say("  Enter takes the default; Ctrl-D cancels; ! declines");
    let schema = serde_json::to_value(&form.params.requested_schema).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let mut content = Map::new();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = required.iter().any(|required| required == name);
        for line in notes(field) {
            say(&format!("  {line}"));
        }
        loop {
            let Some(line) = prompt(&label(name, field, is_required)) else {
                return form.cancel();
            };
            match &*line {
                "!" => return form.decline(),
                "" if field.get("default").is_some() || !is_required => break,
                "" => say("  this field is required"),
                text => match typed(name, text, field)
                    .and_then(|value| checked(&form.params.requested_schema, name, value))
                {
                    Ok(value) => {
                        content.insert(name.clone(), value);
                        break;
                    }
                    Err(problem) => say(&format!("  {problem}")),
                },
            }
        }
    }
    form.accept(Value::Object(content))
}

/// Checks one value as the server will, so that the user can correct it.
fn checked(schema: &RequestedSchema, name: &str, value: Value) -> Result<Value, String> {
    let content = serde_json::from_value(value.clone()).map_err(|error| error.to_string())?;
    let field = schema.properties.get(name).cloned();
    let fields: FormProperties = field
        .map(|field| (name.to_owned(), field))
        .into_iter()
        .collect();
    let content = BTreeMap::from([(name.to_owned(), content)]);
    form::check(&RequestedSchema::new(fields), &content)?;
    Ok(value)
}

/// Returns the lines before the input of a field: its description beside a title, and the titles of choices.
fn notes(field: &Value) -> Vec<String> {
    let description = field["title"].as_str().and(field["description"].as_str());
    let mut lines: Vec<String> = description.map(str::to_owned).into_iter().collect();
    for choices in ["oneOf", "anyOf"] {
        let choices = field[choices]
            .as_array()
            .or(field["items"][choices].as_array());
        for choice in choices.into_iter().flatten() {
            if let Some(title) = choice["title"].as_str() {
                lines.push(format!("  {}: {title}", plain(&choice["const"])));
            }
        }
    }
    let names = field["enumNames"].as_array().into_iter().flatten();
    let values = field["enum"].as_array().into_iter().flatten();
    lines.extend(
        values
            .zip(names)
            .map(|(value, name)| format!("  {}: {}", plain(value), plain(name))),
    );
    lines
}

/// Returns the text before the input of a field.
fn label(name: &str, field: &Value, is_required: bool) -> String {
    let text = |key: &str| field[key].as_str();
    let title = text("title").or(text("description")).unwrap_or(name);
    let choices = field["enum"]
        .as_array()
        .or(field["items"]["enum"].as_array());
    let titled = |key: &str| field[key].as_array().or(field["items"][key].as_array());
    let choices: Vec<String> = match (choices, titled("oneOf").or(titled("anyOf"))) {
        (Some(values), _) => values.iter().map(plain).collect(),
        (None, Some(choices)) => choices
            .iter()
            .map(|choice| plain(&choice["const"]))
            .collect(),
        (None, None) => Vec::new(),
    };
    let mut label = title.to_owned();
    if !choices.is_empty() {
        label += &format!(" ({})", choices.join(" | "));
    } else if let Some(kind) = text("format")
        .or(text("type"))
        .filter(|kind| *kind != "string")
    {
        label += &format!(" ({kind})");
    }
    match field.get("default") {
        Some(default) => label + &format!(" [{}]", plain(default)),
        None if is_required => label,
        None => label + " [none]",
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// Asks for one line; `None` at the end of the input.
fn prompt(label: &str) -> Option<String> {
    let mut err = io::stderr();
    write!(err, "  {}: ", one_line(label))
        .and_then(|()| err.flush())
        .ok()?;
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_described_with_its_choices_and_its_format() {
        let date = json!({"type": "string", "format": "date", "title": "Birthday", "description": "Your date of birth"});
        assert_eq!(notes(&date), ["Your date of birth"]);
        assert_eq!(label("birthdate", &date, true), "Birthday (date)");
        let hero = json!({
            "type": "string", "oneOf": [{"const": "hero-1", "title": "Ada"}, {"const": "hero-2", "title": "Alan"}],
        });
        assert_eq!(notes(&hero), ["  hero-1: Ada", "  hero-2: Alan"]);
        assert_eq!(label("hero", &hero, false), "hero (hero-1 | hero-2) [none]");
        let legacy = json!({"type": "string", "enum": ["a"], "enumNames": ["Ada"]});
        assert_eq!(notes(&legacy), ["  a: Ada"]);
    }

    #[test]
    fn the_host_of_a_page_is_shown_as_browsers_read_it() {
        for (url, shown) in [
            ("https://exampl\u{435}.com/", "https://xn--exampl-8of.com/"),
            (
                "https:\\\\evil.example\\@bank.example/",
                "https://evil.example/@bank.example/",
            ),
            ("no URL", "no URL"),
        ] {
            assert_eq!(as_browsers_read(url), shown);
        }
    }

    #[test]
    fn a_value_is_checked_before_the_next_field() {
        let schema = json!({
            "type": "object",
            "properties": {"birthdate": {"type": "string", "format": "date"}, "name": {"type": "string"}},
            "required": ["birthdate", "name"],
        });
        let form = serde_json::from_value(schema).unwrap();
        assert!(checked(&form, "birthdate", json!("1990-12-31")).is_ok());
        let problem = checked(&form, "birthdate", json!("1990-13-45")).unwrap_err();
        assert!(
            problem.contains("birthdate") && problem.contains("date"),
            "{problem}"
        );
    }
}
