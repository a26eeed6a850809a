//! A transcript as it is written.

use serde_json::Value;

use crate::older::REVISIONS;

/// The side under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The transport of the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TransportKind {
    Stdio,
    Http,
    /// The HTTP+SSE transport of 2024-11-05.
    Sse,
}

impl TransportKind {
    const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|carrier| carrier.name() == name)
    }
}

/// One transcript.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) title: String,
    pub(super) role: Role,
    pub(super) carriers: Vec<TransportKind>,
    pub(super) revisions: Vec<&'static str>,
    pub(super) fixture: String,
    pub(super) steps: Vec<ScriptStep>,
}

/// One step, and where it applies.
#[derive(Debug)]
pub(super) struct ScriptStep {
    pub(super) line: usize,
    only: Vec<When>,
    pub(super) act: Act,
}

impl ScriptStep {
    pub(super) fn holds(&self, carrier: TransportKind, revision: &str) -> bool {
        self.only.iter().all(|when| match when {
            When::Over(this) => *this == carrier,
            When::Since(date) => revision >= *date,
            When::Before(date) => revision < *date,
        })
    }
}

#[derive(Debug)]
enum When {
    Over(TransportKind),
    Since(&'static str),
    Before(&'static str),
}

/// The kind of a step.
#[derive(Debug)]
pub(super) enum Act {
    Open(Value),
    Send(String),
    Status(u16),
    Expect(Value),
    Silent,
    Connect,
    Connected,
    Refused(String),
    Call {
        name: String,
        method: String,
        params: Value,
    },
    Result {
        name: String,
        result: Value,
    },
    Fails {
        name: String,
        words: String,
    },
    Heard(Value),
}

/// A problem and its line.
type Fault = (usize, String);

impl Case {
    pub(super) fn parse(text: &str) -> Result<Self, Fault> {
        let (head, body) = text
            .split_once("\n\n")
            .ok_or_else(|| (1, "the header ends with an empty line".to_owned()))?;
        let mut lines = head.lines().enumerate();
        let title = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix("# "))
            .ok_or_else(|| (1, "the first line is `# Title`".to_owned()))?;
        let mut header = Header::default();
        for (at, line) in lines {
            header.take(line).map_err(|problem| (at + 1, problem))?;
        }
        let steps = steps(body, head.lines().count() + 2)?;
        header.case(title, steps).map_err(|problem| (1, problem))
    }
}

#[derive(Default)]
struct Header {
    guarded: bool,
    role: Option<Role>,
    carriers: Vec<TransportKind>,
    revisions: Vec<&'static str>,
    fixture: Option<String>,
}

impl Header {
    fn take(&mut self, line: &str) -> Result<(), String> {
        let entry = line.strip_prefix("# ").and_then(|it| it.split_once(": "));
        let (key, value) = entry.ok_or("a header line is `# key: value`")?;
        match key {
            "guards" | "proves" => self.guarded = true,
            "role" => {
                self.role = Some(match value {
                    "server" => Role::Server,
                    "client" => Role::Client,
                    _ => return Err(format!("no role {value:?}")),
                });
            }
            "carriers" => {
                for name in value.split(' ') {
                    let carrier = TransportKind::named(name);
                    self.carriers
                        .push(carrier.ok_or_else(|| format!("no carrier {name:?}"))?);
                }
            }
            "revisions" if value == "all" => self.revisions = REVISIONS.to_vec(),
            "revisions" => {
                for name in value.split(' ') {
                    self.revisions.push(date(name)?);
                }
            }
            "fixture" => self.fixture = Some(value.to_owned()),
            _ => return Err(format!("no header {key:?}")),
        }
        Ok(())
    }

    fn case(self, title: &str, steps: Vec<ScriptStep>) -> Result<Case, String> {
        if !self.guarded || self.carriers.is_empty() || self.revisions.is_empty() {
            return Err("guards or proves, carriers and revisions are needed".to_owned());
        }
        Ok(Case {
            title: title.to_owned(),
            role: self.role.ok_or("the role is missing")?,
            carriers: self.carriers,
            revisions: self.revisions,
            fixture: self.fixture.ok_or("the fixture is missing")?,
            steps,
        })
    }
}

fn date(name: &str) -> Result<&'static str, String> {
    let known = REVISIONS.into_iter().find(|revision| *revision == name);
    known.ok_or_else(|| format!("no revision {name:?}"))
}

fn steps(body: &str, first: usize) -> Result<Vec<ScriptStep>, Fault> {
    let mut whole: Vec<(usize, String)> = Vec::new();
    for (at, line) in body.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match whole.last_mut() {
            Some((_, step)) if line.starts_with(' ') => {
                step.push(' ');
                step.push_str(line.trim());
            }
            _ => whole.push((first + at, line.to_owned())),
        }
    }
    whole
        .into_iter()
        .map(|(line, text)| step(line, &text).map_err(|problem| (line, problem)))
        .collect()
}

fn step(line: usize, text: &str) -> Result<ScriptStep, String> {
    let mut only = Vec::new();
    let mut rest = text;
    loop {
        let (word, more) = word(rest);
        if let Some(carrier) = TransportKind::named(word) {
            only.push(When::Over(carrier));
            rest = more;
            continue;
        }
        let (name, after) = self::word(more);
        match word {
            "since" => only.push(When::Since(date(name)?)),
            "before" => only.push(When::Before(date(name)?)),
            _ => break,
        }
        rest = after;
    }
    let act = act(rest)?;
    Ok(ScriptStep { line, only, act })
}

fn act(text: &str) -> Result<Act, String> {
    let (verb, rest) = word(text);
    let (name, more) = word(rest);
    Ok(match verb {
        "open" => Act::Open(json(rest)?),
        ">" => Act::Send(rest.to_owned()),
        "=" => Act::Status(rest.parse().map_err(|_| format!("no status {rest:?}"))?),
        "<" => Act::Expect(json(rest)?),
        "silent" => Act::Silent,
        "connect" => Act::Connect,
        "connected" => Act::Connected,
        "refused" => Act::Refused(rest.to_owned()),
        "call" => {
            let (method, params) = word(more);
            Act::Call {
                name: name.to_owned(),
                method: method.to_owned(),
                params: json(params)?,
            }
        }
        "result" => Act::Result {
            name: name.to_owned(),
            result: json(more)?,
        },
        "fails" => Act::Fails {
            name: name.to_owned(),
            words: more.to_owned(),
        },
        "heard" => Act::Heard(json(rest)?),
        _ => return Err(format!("no step {verb:?}")),
    })
}

/// Returns the first word and the rest.
fn word(text: &str) -> (&str, &str) {
    text.split_once(' ').unwrap_or((text, ""))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))
}
