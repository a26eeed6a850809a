//! Skills from a server to a client.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod hostile;
mod live;

use std::path::{Path, PathBuf};

use mcp_client::{ChangedList, Client, Revision};
use mcp_server::types::JsonObject;
use mcp_server::{Args, Json, Resource, ResourceBody, Server, ServerBuilder};
use mcp_skills::{
    EXTENSION, Error, FileEntry, MAX_FILES, Manifest, RemoteSkills, Skill, SkillError,
    SkillErrorKind, Skills,
};
use serde_json::{Value, json};

const REVIEW: &str = "---\nname: review\ndescription: Reviews code\nmetadata:\n  version: 1.0\n---\nRead refs/list.md.\n";

fn review() -> Skill {
    let files: [(&str, &[u8]); 3] = [
        ("SKILL.md", REVIEW.as_bytes()),
        ("refs/list.md", b"1. Tests?\n"),
        ("refs/raw é.bin", &[0, 159, 146, 150]),
    ];
    let files = files.map(|(path, content)| (path.to_owned(), content.to_vec()));
    Skill::from_files("acme/review", files).unwrap()
}

async fn connect(revision: Revision, server: ServerBuilder) -> Client {
    let transport = mcp_transport_stdio::in_memory(server);
    Client::builder("host", "1")
        .revision(revision)
        .connect(transport)
        .await
        .unwrap()
}

#[tokio::test]
async fn a_client_reads_what_a_server_serves() {
    for revision in Revision::ALL {
        let other = Skill::from_files(
            "other",
            [("SKILL.md", "---\nname: other\ndescription: d\n---\n")],
        )
        .unwrap();
        let skills = Skills::new().skill(review()).skill(other).page_size(1);
        let client = connect(revision, Server::builder("s", "1").with(skills)).await;
        let remote = RemoteSkills::new(&client).unwrap();
        let list = remote.list().await.unwrap();
        let uris: Vec<&str> = list.skills.iter().map(|skill| &*skill.uri).collect();
        assert_eq!(
            uris,
            ["skill://acme/review/SKILL.md", "skill://other/SKILL.md"],
            "{revision}"
        );
        assert!(list.rejected.is_empty());
        let entry = remote.get("skill://acme/review/SKILL.md").await.unwrap();
        assert_eq!(entry, list.skills[0]);
        assert_eq!(entry.frontmatter["metadata"]["version"], json!(1.0));
        let skill = remote.open(entry).await.unwrap();
        assert_eq!(skill.instructions(), "Read refs/list.md.\n");
        assert_eq!(skill.read("refs/list.md").await.unwrap(), b"1. Tests?\n");
        assert_eq!(
            skill.read("refs/raw%20%C3%A9.bin").await.unwrap(),
            [0, 159, 146, 150]
        );
        let Err(Error::Skill(error)) = skill.read("../other/SKILL.md").await else {
            panic!()
        };
        assert_eq!(error.kind(), SkillErrorKind::Unlisted);
        let Err(Error::Client(error)) = remote.get("skill://missing/SKILL.md").await else {
            panic!()
        };
        assert_eq!(error.rejection().unwrap().code.0, -32602);
        let skill_md = client.list_resources().await.unwrap();
        let skill_md = skill_md
            .iter()
            .find(|file| file.uri == "skill://acme/review/SKILL.md")
            .unwrap();
        assert_eq!(
            (&*skill_md.name, skill_md.mime_type.as_deref()),
            ("review", Some("text/markdown"))
        );
        client.close().await.unwrap();
    }
}

/// `resources/directory/read`.
enum ReadDirectory {}

impl mcp_types::method::Request for ReadDirectory {
    const METHOD: &'static str = "resources/directory/read";
    type Params = JsonObject;
    type Result = JsonObject;
}

#[tokio::test]
async fn folders_are_listed() {
    let client = connect(
        Revision::LATEST,
        Server::builder("s", "1").with(Skills::new().skill(review())),
    )
    .await;
    let read = async |uri: &str| {
        let params = JsonObject::from_iter([("uri".to_owned(), json!(uri))]);
        client.request::<ReadDirectory>(&params).await
    };
    let names = |result: JsonObject| -> Vec<(Value, Value)> {
        let children = result["resources"].as_array().unwrap().iter();
        children
            .map(|child| (child["uri"].clone(), child["mimeType"].clone()))
            .collect()
    };
    assert_eq!(
        names(read("skill://acme").await.unwrap()),
        [(json!("skill://acme/review"), json!("inode/directory"))]
    );
    assert_eq!(
        names(read("skill://acme/review/").await.unwrap()),
        [
            (
                json!("skill://acme/review/SKILL.md"),
                json!("text/markdown")
            ),
            (json!("skill://acme/review/refs"), json!("inode/directory")),
        ]
    );
    assert_eq!(
        names(read("skill://acme/review/refs").await.unwrap()).len(),
        2
    );
    for uri in [
        "skill://acme/review/SKILL.md",
        "skill://acme/review/..",
        "skill://",
        "file:///etc",
    ] {
        assert_eq!(
            read(uri).await.unwrap_err().rejection().unwrap().code.0,
            -32602,
            "{uri}"
        );
    }
    client.close().await.unwrap();
}

#[test]
fn the_fingerprint_changes_with_every_file() {
    let changed = |path: &str, text: &str| {
        let files = [("SKILL.md", REVIEW), ("a.md", "a"), (path, text)];
        Skill::from_files("review", files)
            .unwrap()
            .entry()
            .fingerprint()
            .unwrap()
    };
    let base = changed("a.md", "a");
    assert_eq!(base, changed("a.md", "a"));
    assert_ne!(base, changed("a.md", "b"));
    assert_ne!(base, changed("b.md", "a"));
}

/// An empty folder of this test.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(format!("skills-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn folders_with_a_skill_file_become_skills() {
    let root = folder("read");
    write(&root, "review/SKILL.md", REVIEW);
    write(&root, "review/refs/list.md", "1.\n");
    write(&root, "review/.git/config", "secret");
    write(
        &root,
        "acme/other/SKILL.md",
        "---\nname: other\ndescription: d\n---\n",
    );
    write(
        &root,
        "review/nested/SKILL.md",
        "---\nname: nested\ndescription: d\n---\n",
    );
    let skills = Skills::from_folder(&root).unwrap();
    let uris: Vec<&str> = skills.entries().map(|entry| &*entry.uri).collect();
    let expected = [
        "skill://acme/other/SKILL.md",
        "skill://review/SKILL.md",
        "skill://review/nested/SKILL.md",
    ];
    assert_eq!(uris, expected);
    let outer = skills.entries().nth(1).unwrap();
    let Manifest::Files(files) = &outer.resources else {
        panic!()
    };
    let files: Vec<&str> = files
        .iter()
        .map(|file| &file.uri["skill://review/".len()..])
        .collect();
    assert_eq!(files, ["SKILL.md", "nested/SKILL.md", "refs/list.md"]);
    Server::builder("s", "1").with(skills).build().unwrap();
    std::fs::remove_dir_all(root).unwrap();
}

#[test]
fn skills_that_clients_would_reject_are_errors() {
    let minimal = |name: &str| format!("---\nname: {name}\ndescription: d\n---\n");
    for (path, text, kind) in [
        ("review", "no frontmatter", SkillErrorKind::Frontmatter),
        (
            "review",
            "---\nname: review\n---\n",
            SkillErrorKind::Frontmatter,
        ),
        ("review", &*minimal("other"), SkillErrorKind::Name),
        ("Review", &*minimal("Review"), SkillErrorKind::Name),
        ("review--x", &*minimal("review--x"), SkillErrorKind::Name),
        ("", &*minimal(""), SkillErrorKind::Name),
    ] {
        let error = Skill::from_files(path, [("SKILL.md", text)]).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    }
    let error = Skill::from_files("review", [("other.md", "")]).unwrap_err();
    assert_eq!(error.kind(), SkillErrorKind::Frontmatter);
    let many = (0..MAX_FILES).map(|n| (format!("{n}.md"), String::new()));
    let many = many.chain([("SKILL.md".to_owned(), REVIEW.to_owned())]);
    assert_eq!(
        Skill::from_files("review", many).unwrap_err().kind(),
        SkillErrorKind::TooLarge
    );
}
