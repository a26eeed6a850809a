//! Answers elicitation requests, with input of the user at the terminal or with answers from a file.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use mcp_client::types::{ElicitAction, ElicitResult, ElicitValue, FormProperties, RequestedSchema};
use mcp_client::{ClientBuilder, ElicitForm, ElicitUrl};
use mcp_host::without_type_names;
use mcp_protocol::{form, lock};
use serde::Deserialize as _;
use serde_json::{Map, Value, json};
use url::Url;

use crate::arguments::{text_of_file, typed};
use crate::failure::{Code, Failure};
use crate::output::{one_line, say, say_text, say_whole};

/// The failure of the first cancelled elicitation since the last call of [`take_cancelled`]. An elicitation is cancelled if it
/// has no answer, or if its answer does not match the form.
static CANCELLED: Mutex<Option<Failure>> = Mutex::new(None);

/// Returns and clears the failure of the first elicitation that was cancelled since the last call. If there is a failure, the
/// command must fail, even if the server responded with a success.
pub(crate) fn take_cancelled() -> Option<Failure> {
    lock(&CANCELLED).take()
}

fn record(failure: Failure) {
    lock(&CANCELLED).get_or_insert(failure);
}

/// The source of the answers to elicitation requests.
#[derive(Debug)]
pub(crate) struct Answers {
    source: Source,
    /// The file of the option `--answer`.
    file: Option<PathBuf>,
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
    /// Reads the answers from the file. Without a file, the user answers at the terminal, if there is a terminal.
    pub(crate) fn load(file: Option<&Path>) -> Result<Arc<Self>, Failure> {
        let source = match file {
            Some(file) => Self::read(file)?,
            None if io::stdin().is_terminal() && io::stderr().is_terminal() => Source::Terminal,
            None => Source::Missing,
        };
        let file = file.map(Path::to_owned);
        Ok(Arc::new(Self { source, file }))
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
                // Reading the terminal blocks the thread. If the call ends before the user answers, the thread
                // ends with the program.
                let asked = tokio::task::spawn_blocking(move || ask(&form));
                asked.await.unwrap_or_else(|_| cancelled())
            }
            _ => match self.next(&form.params.message) {
                None => form.cancel(),
                Some(answer) => {
                    let fitting = stored(answer)
                        .and_then(|result| fit(&form.params.requested_schema, result));
                    self.or_cancel(&form.params.message, fitting)
                }
            },
        }
    }

    async fn url(&self, url: ElicitUrl) -> ElicitResult {
        match &self.source {
            Source::Terminal => {
                say_text(&format!("{} asks:", url.server.name), &url.params.message);
                say_whole(&format!("  open {}", as_browsers_read(&url.params.url)));
                let line = tokio::task::spawn_blocking(|| {
                    prompt(
                        "press Enter when you have done what the server asks, or type n to decline",
                    )
                });
                match line.await.ok().flatten() {
                    Some(line) if line.is_empty() => url.accept(),
                    Some(_) => url.decline(),
                    None => url.cancel(),
                }
            }
            _ => match self.next(&url.params.message) {
                None => url.cancel(),
                Some(answer) => self.or_cancel(&url.params.message, stored(answer)),
            },
        }
    }

    /// Returns the answer from the file. If the answer does not match the form, cancels the elicitation and records the reason.
    fn or_cancel(&self, message: &str, result: Result<ElicitResult, String>) -> ElicitResult {
        result.unwrap_or_else(|problem| {
            let text = format!("the answer to {message:?}: {problem}");
            record(match &self.file {
                Some(file) => Failure::usage(format!("--answer {}: {text}", file.display())),
                None => Failure::usage(text),
            });
            cancelled()
        })
    }

    /// Returns the next answer from the file.
    fn next(&self, question: &str) -> Option<Value> {
        let answer = match &self.source {
            Source::Always(answer) => Some(answer.clone()),
            Source::Each(all) => lock(all).pop_front(),
            Source::Terminal | Source::Missing => None,
        };
        if answer.is_none() {
            let text = match &self.file {
                Some(file) => format!(
                    "--answer {} has no answer for {question:?}; add an object to the list",
                    file.display()
                ),
                None => format!(
                    "the server asked {question:?}, and there is no terminal; run the command in a terminal, or use --answer FILE"
                ),
            };
            record(Failure::new(Code::ActionRequired, text));
        }
        answer
    }
}

/// Converts an answer from the file. The answer is a whole result with an action, or the content of an accepted form.
///
/// # Errors
/// The error names the field with the invalid answer, its value, and the expected value.
fn stored(answer: Value) -> Result<ElicitResult, String> {
    let action = answer.get("action").and_then(Value::as_str);
    let is_result = matches!(action, Some("accept" | "decline" | "cancel"));
    let result = match is_result {
        true => answer,
        false => json!({ "action": "accept", "content": answer }),
    };
    if let Some(content) = result.get("content") {
        let Some(fields) = content.as_object() else {
            return Err(format!("\"content\" must be an object, not {content}"));
        };
        for (name, value) in fields {
            ElicitValue::deserialize(value).map_err(|_| {
                format!(
                    "field {name:?}: {value} is not text, a number, a boolean or a list of texts"
                )
            })?;
        }
    }
    serde_json::from_value(result).map_err(|error| without_type_names(&error.to_string()))
}

/// Checks the content of an accepted form. The client makes the same check before it sends the content.
///
/// # Errors
/// The error names the field, its value, and the expected value.
fn fit(schema: &RequestedSchema, result: ElicitResult) -> Result<ElicitResult, String> {
    if result.action != ElicitAction::Accept {
        return Ok(result);
    }
    let mut content = result.content.clone().unwrap_or_default();
    if let Some(extra) = form::extra(schema, &content) {
        let names: Vec<&str> = schema.properties.iter().map(|(name, _)| name).collect();
        let names = names.join(", ");
        return Err(format!(
            "field {extra:?} is not in the form, which has the fields {names}"
        ));
    }
    form::apply_defaults(schema, &mut content);
    form::check(schema, &content).map_err(|problem| {
        let name = form::mismatch(schema, &content).unwrap_or_default();
        match content.get(&name).map(serde_json::to_string) {
            Some(Ok(value)) => format!("{problem}; the value is {value}"),
            _ => problem,
        }
    })?;
    Ok(result)
}

/// Returns a URL in the form in which browsers read it, for example with the ASCII form of its host.
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
                text => match entered(&form.params.requested_schema, name, text, field) {
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

/// Converts words such as `yes` to `true` or `false` if the field is a boolean. Returns all other texts unchanged.
fn as_boolean<'a>(text: &'a str, field: &Value) -> &'a str {
    if field["type"] != "boolean" {
        return text;
    }
    match &*text.to_ascii_lowercase() {
        "y" | "yes" | "true" => "true",
        "n" | "no" | "false" => "false",
        _ => text,
    }
}

/// Converts the text that the user entered for a field, and checks the value.
fn entered(
    schema: &RequestedSchema,
    name: &str,
    text: &str,
    field: &Value,
) -> Result<Value, String> {
    let value = typed(name, as_boolean(text, field), field);
    checked(
        schema,
        name,
        value.map_err(|problem| format!("field {name:?}: {problem}"))?,
    )
}

/// Checks one value in the same way as the server does, so that the user can correct the value.
fn checked(schema: &RequestedSchema, name: &str, value: Value) -> Result<Value, String> {
    let content = serde_json::from_value(value.clone())
        .map_err(|error| without_type_names(&error.to_string()))?;
    let field = schema.properties.get(name).cloned();
    let fields: FormProperties = field
        .map(|field| (name.to_owned(), field))
        .into_iter()
        .collect();
    let content = BTreeMap::from([(name.to_owned(), content)]);
    form::check(&RequestedSchema::new(fields), &content)?;
    Ok(value)
}

/// Returns the lines to print before the user enters a field: the description of the field, if it also has a title, and the
/// titles of its choices.
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

/// Returns the text before the position where the user enters a field.
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
    } else if field["type"] == "boolean" {
        label += " (y/n)";
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

/// Asks the user for one line; `None` at the end of the input.
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
    use super::*;

    #[test]
    fn booleans_can_be_answered_with_yes_or_no() {
        let field = json!({"type": "boolean", "title": "Sugar"});
        assert_eq!(label("sugar", &field, true), "Sugar (y/n)");
        for (text, value) in [
            ("y", true),
            ("Yes", true),
            ("TRUE", true),
            ("n", false),
            ("no", false),
            ("false", false),
        ] {
            let read = typed("sugar", as_boolean(text, &field), &field);
            assert_eq!(read, Ok(json!(value)), "{text}");
        }
        assert!(typed("sugar", as_boolean("maybe", &field), &field).is_err());
        assert_eq!(as_boolean("y", &json!({"type": "string"})), "y");
    }

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
        let number = entered(&form, "name", "x", &json!({"type": "integer"})).unwrap_err();
        assert_eq!(number, "field \"name\": \"x\" is not an integer");
        let problem = checked(&form, "birthdate", json!("1990-13-45")).unwrap_err();
        assert!(
            problem.contains("birthdate") && problem.contains("date"),
            "{problem}"
        );
    }
}
