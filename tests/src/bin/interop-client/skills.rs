//! The skills of a server: what is listed, read and verified, and what is refused.

use mcp_jsonrpc::ErrorCode;
use mcp_skills::{Manifest, RemoteSkills, SkillEntry, SkillErrorKind};
use mcp_types::method::Request;
use serde_json::{Value, json};

use crate::report::{Fault, Outcome, absent, ensure, row, same, worked};
use crate::target::Target;

const REVIEW: &str = "skill://code/review/SKILL.md";
const GREET: &str = "skill://greet/SKILL.md";
const CHECKLIST: &str = "references/checklist.md";

/// `resources/directory/read`.
enum ReadDirectory {}

impl Request for ReadDirectory {
    const METHOD: &'static str = "resources/directory/read";
    type Params = Value;
    type Result = Value;
}

/// Reports every feature.
pub(crate) async fn run(target: &Target) -> Result<(), Fault> {
    let session = target.session().await?;
    let skills = RemoteSkills::new(&session.client)?;
    row("skills-list", listed(&skills)).await;
    row("skills-get", async {
        let entry = skills.get(REVIEW).await?;
        let metadata = &entry.frontmatter["metadata"];
        same(
            "the metadata",
            metadata,
            &json!({ "com.example/version": "1" }),
        )?;
        worked(entry.description())
    })
    .await;
    row("skills-read", async {
        let skill = skills.open(skills.get(REVIEW).await?).await?;
        let checklist = String::from_utf8(skill.read(CHECKLIST).await?)?;
        same("the checklist", &*checklist, "1. Is there a test?\n")?;
        worked(skill.instructions().trim())
    })
    .await;
    row("skills-changed", changed(&skills)).await;
    row("skills-unlisted", async {
        let skill = skills.open(skills.get(REVIEW).await?).await?;
        rejected(SkillErrorKind::Unlisted, skill.read("notes.md").await)
    })
    .await;
    row("skills-unknown", async {
        match skills.get("skill://no-such-skill/SKILL.md").await {
            Err(mcp_skills::Error::Client(error)) => {
                let code = error.rejection().map(|error| error.code);
                same("the code", code, Some(ErrorCode::INVALID_PARAMS))?;
                worked("code -32602")
            }
            other => Err(format!("{other:?}").into()),
        }
    })
    .await;
    row("skills-directory", async {
        let params = json!({ "uri": "skill://code/review/references" });
        let children = match session.client.request::<ReadDirectory>(&params).await {
            Err(error) if is_unknown(&error) => return absent(error.to_string()),
            children => children?,
        };
        let uri = &children["resources"][0]["uri"];
        same(
            "the child",
            uri,
            "skill://code/review/references/checklist.md",
        )?;
        worked("one child")
    })
    .await;
    row("shutdown", session.close()).await;
    Ok(())
}

async fn listed(skills: &RemoteSkills) -> Outcome {
    let list = skills.list().await?;
    let mut uris: Vec<&str> = list.skills.iter().map(|skill| &*skill.uri).collect();
    uris.sort_unstable();
    same("the skills", uris, [REVIEW, GREET])?;
    ensure(list.rejected.is_empty(), || format!("{:?}", list.rejected))?;
    worked("2 skills")
}

/// A file that differs from its entry is refused.
async fn changed(skills: &RemoteSkills) -> Outcome {
    let mut entry: SkillEntry = skills.get(REVIEW).await?;
    if let Manifest::Files(files) = &mut entry.resources {
        for file in files
            .iter_mut()
            .filter(|file| file.uri.ends_with(CHECKLIST))
        {
            file.digest = format!("sha256:{}", "0".repeat(64));
        }
    }
    let skill = skills.open(entry).await?;
    rejected(SkillErrorKind::Mismatch, skill.read(CHECKLIST).await)
}

fn rejected(kind: SkillErrorKind, read: Result<Vec<u8>, mcp_skills::Error>) -> Outcome {
    match read {
        Err(mcp_skills::Error::Skill(error)) if error.kind() == kind => worked(error.to_string()),
        other => Err(format!("{other:?}, not {kind:?}").into()),
    }
}

fn is_unknown(error: &mcp_client::Error) -> bool {
    let code = error.rejection().map(|error| error.code);
    code == Some(ErrorCode::METHOD_NOT_FOUND)
}
