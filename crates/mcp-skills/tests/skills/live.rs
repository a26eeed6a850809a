//! Skills that change while the server runs.

use super::*;

fn note(text: &str) -> Skill {
    let files = [
        ("SKILL.md", "---\nname: note\ndescription: d\n---\n"),
        ("note.md", text),
    ];
    Skill::from_files("note", files).unwrap()
}

#[tokio::test]
async fn a_changed_skill_is_served_and_its_old_entry_is_refused() {
    for revision in Revision::ALL {
        let skills = Skills::new().skill(note("one"));
        let live = skills.live();
        let server = Server::builder("s", "1").with(skills).build().unwrap();
        let transport = mcp_transport_stdio::in_memory(server.clone());
        let client = Client::builder("host", "1").revision(revision);
        let client = client.connect(transport).await.unwrap();
        let remote = RemoteSkills::new(&client).unwrap();
        let before = remote.list().await.unwrap().skills.remove(0);
        let same = live.replace(&server, Skills::new().skill(note("one")));
        assert!(!same.unwrap(), "{revision}");

        let skills = Skills::new().skill(note("two")).skill(review());
        assert!(live.replace(&server, skills).unwrap(), "{revision}");
        let list = remote.list().await.unwrap().skills;
        assert_eq!(list.len(), 2, "{revision}");
        let after = remote.get("skill://note/SKILL.md").await.unwrap();
        assert_ne!(before.fingerprint(), after.fingerprint());
        let skill = remote.open(after).await.unwrap();
        assert_eq!(skill.read("note.md").await.unwrap(), b"two");
        let stale = remote.open(before).await.unwrap();
        let Err(Error::Skill(error)) = stale.read("note.md").await else {
            panic!("a changed file was accepted")
        };
        assert_eq!(error.kind(), SkillErrorKind::Mismatch);

        assert!(
            live.replace(&server, Skills::new().skill(review()))
                .unwrap()
        );
        assert_eq!(remote.list().await.unwrap().skills.len(), 1);
        assert_eq!(client.list_resources().await.unwrap().len(), 3);
        client.close().await.unwrap();
    }
}

#[tokio::test]
async fn clients_are_notified_of_changed_skills() {
    let (changed, mut changes) = tokio::sync::mpsc::channel(16);
    let skills = Skills::new().skill(note("one"));
    let live = skills.live();
    let server = Server::builder("s", "1").with(skills).build().unwrap();
    let transport = mcp_transport_stdio::in_memory(server.clone());
    let client = Client::builder("host", "1")
        .revision(Revision::V2025_11_25)
        .on_change(move |list| _ = changed.try_send(list))
        .connect(transport)
        .await
        .unwrap();
    // The server has now received that the session is open.
    client.list_resources().await.unwrap();
    let skills = Skills::new().skill(note("two"));
    assert!(live.replace(&server, skills).unwrap());
    assert_eq!(changes.recv().await, Some(ChangedList::Resources));
    client.close().await.unwrap();
}

#[test]
fn skills_are_not_replaced_if_a_file_has_the_uri_of_another_resource() {
    let skills = Skills::new().skill(note("one"));
    let live = skills.live();
    let taken = Resource::text("skill://note/more.md", "more", "mine");
    let server = Server::builder("s", "1").with(skills).resource(taken);
    let server = server.build().unwrap();
    let files = [
        ("SKILL.md", "---\nname: note\ndescription: d\n---\n"),
        ("more.md", "theirs"),
    ];
    let more = Skill::from_files("note", files).unwrap();
    let error = live
        .replace(&server, Skills::new().skill(more))
        .unwrap_err();
    assert!(error.to_string().contains("more.md"), "{error}");
    let same = live.replace(&server, Skills::new().skill(note("one")));
    assert!(!same.unwrap());
    assert!(server.resources().remove("skill://note/note.md"));
}
