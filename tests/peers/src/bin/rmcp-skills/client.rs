//! The client: its SDK has the requests and compares a file with its entry. It reads no file by itself.

use rmcp::model::{
    ClientConfig, GetSkillRequestParams, ProtocolVersion, ReadResourceDirectoryRequestParams,
    ReadResourceRequestParams, ResourceContents, Skill, SkillResource, SkillResources,
};
use rmcp::service::{RunningService, ServiceError};
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _, RoleClient};
use serde_json::json;
use tokio::process::Command;

use crate::report::{Fault, Outcome, absent, ensure, row, same, worked};
use crate::{CHECKLIST, GREET, REVIEW};

type Client = RunningService<RoleClient, ClientConfig>;

pub(crate) async fn drive(everything: &str) -> Result<(), Fault> {
    let mut command = Command::new(everything);
    command.arg("--stdio");
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let transport = TokioChildProcess::new(command)?;
    let client = ClientConfig::default();
    let client: Client = client.serve_with_lifecycle(transport, lifecycle).await?;
    row("skills-list", listed(&client)).await;
    row("skills-get", found(&client)).await;
    row("skills-read", read(&client)).await;
    row("skills-changed", changed(&client)).await;
    row("skills-unlisted", async {
        absent("the client has no method that reads a file of a skill")
    })
    .await;
    row("skills-unknown", unknown(&client)).await;
    row("skills-directory", directory(&client)).await;
    row("shutdown", async {
        client.cancel().await?;
        worked("closed")
    })
    .await;
    Ok(())
}

async fn listed(client: &Client) -> Outcome {
    let skills = client.list_all_skills().await?;
    let mut uris: Vec<&str> = skills.iter().map(|skill| &*skill.uri).collect();
    uris.sort_unstable();
    same("the skills", uris, [REVIEW, GREET])?;
    worked(format!("{} skills", skills.len()))
}

async fn review(client: &Client) -> Result<(Skill, Vec<SkillResource>), Fault> {
    let skill = client.get_skill(GetSkillRequestParams::new(REVIEW)).await?;
    let skill = skill.skill;
    skill.validate()?;
    let SkillResources::Files(files) = skill.resources.clone() else {
        return Err("the skill is dynamic".into());
    };
    Ok((skill, files))
}

async fn found(client: &Client) -> Outcome {
    let (skill, files) = review(client).await?;
    let metadata = &skill.frontmatter.extra["metadata"];
    same(
        "the metadata",
        metadata,
        &json!({ "com.example/version": "1" }),
    )?;
    same("the number of files", files.len(), 2)?;
    worked(skill.frontmatter.description)
}

async fn bytes(client: &Client, uri: &str) -> Result<Vec<u8>, Fault> {
    let read = client.read_resource(ReadResourceRequestParams::new(uri));
    match &*read.await?.contents {
        [ResourceContents::TextResourceContents { text, .. }] => Ok(text.clone().into_bytes()),
        other => Err(format!("the contents are {other:?}").into()),
    }
}

async fn read(client: &Client) -> Outcome {
    let (_, files) = review(client).await?;
    for file in &files {
        file.verify(&bytes(client, &file.uri).await?)?;
    }
    worked(format!("{} files", files.len()))
}

async fn changed(client: &Client) -> Outcome {
    let mut content = bytes(client, CHECKLIST).await?;
    content[0] = b'2';
    let (_, files) = review(client).await?;
    let file = files.iter().find(|file| file.uri == CHECKLIST);
    let file = file.ok_or("the checklist is not listed")?;
    match file.verify(&content) {
        Ok(()) => Err("a changed file was verified".into()),
        Err(error) => worked(error.to_string()),
    }
}

async fn unknown(client: &Client) -> Outcome {
    let params = GetSkillRequestParams::new("skill://no-such-skill/SKILL.md");
    match client.get_skill(params).await {
        Err(ServiceError::McpError(error)) => {
            same("the code", error.code.0, -32602)?;
            worked("code -32602")
        }
        other => Err(format!("{other:?}").into()),
    }
}

async fn directory(client: &Client) -> Outcome {
    let params = ReadResourceDirectoryRequestParams::new("skill://code/review/references");
    let children = client.read_resource_directory(params).await?.resources;
    let uris: Vec<&str> = children.iter().map(|child| &*child.uri).collect();
    ensure(uris == [CHECKLIST], || format!("the children are {uris:?}"))?;
    worked(uris.join(", "))
}
