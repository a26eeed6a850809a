//! Skills with the official Rust SDK:
//!
//! ```text
//! rmcp-skills serve FOLDER
//! rmcp-skills drive FOLDER INTEROP-CLIENT EVERYTHING-SERVER
//! ```
//!
//! The first serves the skills of a folder over stdio. The second reads the skills of our everything server, and prints
//! one JSON line per feature.

mod client;
#[path = "../../../../src/bin/interop-client/report.rs"]
#[allow(dead_code, reason = "other programs use the rest")]
mod report;
mod server;

use report::Fault;

const REVIEW: &str = "skill://code/review/SKILL.md";
const CHECKLIST: &str = "skill://code/review/references/checklist.md";
const GREET: &str = "skill://greet/SKILL.md";

#[tokio::main]
async fn main() -> Result<(), Fault> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    match *words {
        ["serve", folder] => server::serve(folder).await,
        ["drive", _, _, everything] => client::drive(everything).await,
        _ => Err("usage: rmcp-skills serve FOLDER | drive FOLDER CLIENT SERVER".into()),
    }
}
