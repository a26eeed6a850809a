//! Transcripts: the conversations in `tests/fixtures/wire/`, one per file.
//!
//! A file begins with a title and its header, in comments:
//!
//! ```text
//! # An array is no message where batches do not exist
//! # guards: older-revisions 2, "JSON-RPC batch, receive"
//! # proves: BASE-036
//! # role: server
//! # carriers: stdio http sse
//! # revisions: 2024-11-05 2025-06-18 2025-11-25
//! # fixture: everything
//! ```
//!
//! `guards` or `proves` may be missing, but not both; `proves` is counted by `cargo xtask support`. The role under test
//! is `server` or `client`; the other side is the script. The conversation runs once per carrier and revision.
//! Its steps follow, in order. An indented line continues the previous line; other comments are prose:
//!
//! | Step | Means |
//! | --- | --- |
//! | `open {capabilities}` | the handshake, in which the script declares these capabilities |
//! | `> text` | the script sends exactly this text |
//! | `= 400` | the expected HTTP status of the sent text; by default that of an accepted message |
//! | `< json` | the side under test sends this next |
//! | `silent` | the side under test sends nothing except the response to a ping; checked at the end of every open conversation |
//! | `connect` | a client connects; the script answers its `initialize` with a step |
//! | `connected`, `refused words` | the outcome of `connect`: success, or an error with these words |
//! | `call name method {params}` | the client sends a request; later steps refer to it by this name |
//! | `result name json`, `fails name words` | the outcome of this request |
//! | `heard json` | the next notification that the host receives; at the end no others may remain |
//!
//! `stdio`, `http`, `sse`, `since DATE` and `before DATE` in front of a step restrict it. A message may have more members
//! than expected, but arrays must have exactly these elements (those of a batch in any order). Some strings are
//! patterns: `"$none"` is an absent member, `"$any"` is any value, and `"…words…"` is a text that contains these words.
//! `"$name"` captures a value at its first occurrence, must be equal to it later, and is replaced by it in sent text;
//! `"$revision"` is the revision of the conversation.

mod case;
mod client;
mod fixtures;
mod matching;
mod scripted;
mod server;
mod talk;

use std::fs;
use std::path::Path;

use case::{Case, Role};

/// Returns all transcripts, by file name.
fn transcripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/wire");
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    files
}

/// Runs every conversation of a transcript; returns the failures with their messages.
fn follow(name: &str, text: &str) -> Vec<String> {
    let case = match Case::parse(text) {
        Ok(case) => case,
        Err((line, problem)) => return vec![format!("{name}:{line}: {problem}")],
    };
    let mut failures = Vec::new();
    for &carrier in &case.carriers {
        for &revision in &case.revisions {
            // A separate runtime, so that one conversation does not affect the next.
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .unwrap();
            let held = runtime.block_on(async {
                match case.role {
                    Role::Server => server::hold(&case, carrier, revision).await,
                    Role::Client => client::hold(&case, carrier, revision).await,
                }
            });
            if let Err(failed) = held {
                let (role, carrier) = (case.role.name(), carrier.name());
                let head = format!("{name}:{} ({role} over {carrier}, {revision})", failed.line);
                // One whole conversation is enough to see the defect.
                failures.push(if failures.is_empty() {
                    format!("{head}: {}\n{}", case.title, failed.report)
                } else {
                    let differs = failed.report.lines().next().unwrap_or_default();
                    format!("{head}\n{differs}")
                });
            }
        }
    }
    failures
}

#[test]
fn every_wire_transcript_matches() {
    let transcripts = transcripts();
    assert!(
        !transcripts.is_empty(),
        "the transcripts are not where they were"
    );
    let failures: Vec<String> = transcripts
        .iter()
        .flat_map(|(name, text)| follow(name, text))
        .collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
}

/// Reports a conversation that differs from the transcript.
fn report(steps: &str) -> String {
    let head = "# Title\n# guards: x\n# role: server\n# carriers: stdio\n# revisions: 2025-11-25\n\
                # fixture: everything\n\n";
    follow("x.txt", &format!("{head}{steps}")).join("\n")
}

#[test]
fn differences_are_reported_with_their_location() {
    let ping = "> {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}\n";
    assert_eq!(report(&format!("open {{}}\n{ping}< {{\"id\": 7}}\n")), "");
    let report = report(&format!(
        "open {{}}\n{ping}< {{\"id\": 8, \"result\": {{\"a\": 1}}}}\n"
    ));
    for words in [
        "x.txt:10 (server over stdio, 2025-11-25): Title",
        "/id: expected 8, got 7",
        "/result/a: expected 1, got nothing",
        "> {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}",
    ] {
        assert!(report.contains(words), "{words} is not in\n{report}");
    }
}

#[test]
fn unexpected_messages_are_reported() {
    let ping = "> {\"jsonrpc\": \"2.0\", \"id\": 7, \"method\": \"ping\"}\n";
    let said = report(&format!("open {{}}\n{ping}"));
    assert!(
        said.contains("x.txt:9 ") && said.contains("silence"),
        "{said}"
    );
    let said = report("open {}\n< {}\n");
    assert!(said.contains("nothing came"), "{said}");
    let said = report("open {}\nshout\n");
    assert!(said.starts_with("x.txt:9: no step"), "{said}");
    let said = report("open {}\n< {\"id\": }\n");
    assert!(said.starts_with("x.txt:9: "), "{said}");
}
