//! Tokens that are stored between two runs of a program, or shared by two programs.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_auth::client::{FileTokenStore, MemoryTokenStore, TokenStore};
use serde_json::json;

use crate::support::{Net, SERVER, refuse, sent, shown, signed_in, token};

/// A temporary folder, removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let own = format!("mcp-auth-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(own);
        // A test that was killed can have left a folder, and process ids are used again.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn store(&self) -> FileTokenStore {
        FileTokenStore::new(self.0.join("tokens.json"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// One server must not lose the sign-ins at the others.
#[tokio::test]
async fn tokens_that_are_too_large_are_refused() {
    let folder = Folder::new("large");
    let store = folder.store();
    let text = |bytes| mcp_auth::Secret::new("\"".repeat(bytes));
    store.save("honest", &text(64 << 10)).await.unwrap();
    let error = store.save("hostile", &text((64 << 10) + 1)).await;
    let error = error.unwrap_err().to_string();
    assert!(
        error.contains("the tokens for hostile have 65537 bytes"),
        "{error}"
    );
    // A full file can still be read and changed.
    let mut count = 0;
    while store
        .save(&format!("server {count}"), &text(64 << 10))
        .await
        .is_ok()
    {
        count += 1;
        assert!(count < 100);
    }
    assert!(store.load("honest").await.unwrap().is_some());
    store.remove("server 0").await.unwrap();
    store.save("server 0", &text(64 << 10)).await.unwrap();
}

/// A slow server must not delay the renewals of the tokens for others.
#[tokio::test(start_paused = true)]
async fn renewals_for_one_server_do_not_wait_for_those_of_another() {
    let folder = Folder::new("locks");
    let (store, other) = (folder.store(), folder.store());
    let held = store.lock("slow").await.unwrap();
    drop(other.lock("honest").await.unwrap());
    let error = other.lock("slow").await.err().unwrap().to_string();
    assert!(error.contains("another program has held"), "{error}");
    drop(held);
    other.lock("slow").await.unwrap();
}

/// Files in the place of those of the store: opening a pipe would block, and a link could create a file elsewhere.
#[cfg(unix)]
#[tokio::test]
async fn a_token_file_that_is_a_pipe_or_a_link_is_not_opened() {
    use mcp_auth::Secret;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    let pipe = |path: &PathBuf| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    };
    let folder = Folder::new("pipes");
    let [tokens, lock] = ["tokens.json", "tokens.json.write.lock"].map(|name| folder.0.join(name));
    let store = folder.store();
    let text = Secret::new("text");
    pipe(&lock);
    store.save("name", &text).await.unwrap_err();
    std::fs::remove_file(&lock).unwrap();
    let elsewhere = folder.0.join("elsewhere");
    std::os::unix::fs::symlink(&elsewhere, &lock).unwrap();
    store.save("name", &text).await.unwrap_err();
    assert!(!elsewhere.exists());
    std::fs::remove_file(&lock).unwrap();
    pipe(&tokens);
    let error = store.load("name").await.unwrap_err().to_string();
    assert!(error.contains("not a regular file"), "{error}");
}

#[tokio::test]
async fn a_restarted_program_is_signed_in() {
    let folder = Folder::new("again");
    let net = Net::new();
    let first = net.client().store(folder.store()).build().unwrap();
    signed_in(&first).await;
    let second = net.client().store(folder.store()).build().unwrap();
    assert_eq!(shown(&sent(&second).await.unwrap()), Some("token-1"));
    // Renewed with the stored registration.
    net.wait(3_600);
    net.tokens(|_| token("token-2"));
    assert_eq!(shown(&sent(&second).await.unwrap()), Some("token-2"));
    assert_eq!(
        net.redeemed()[1].field("client_id").as_deref(),
        Some("client-1")
    );
    second.sign_out().await.unwrap();
    let third = net.client().store(folder.store()).build().unwrap();
    assert!(!third.is_signed_in().await.unwrap());
    assert_eq!((net.visits().len(), net.registrations().len()), (1, 1));
}

#[tokio::test]
async fn t38_two_programs_that_share_a_store_cause_one_refresh() {
    let folder = Folder::new("shared");
    let net = Net::new();
    let one = net.client().store(folder.store()).build().unwrap();
    let message = signed_in(&one).await;
    let two = net.client().store(folder.store()).build().unwrap();
    sent(&two).await.unwrap();
    let count = AtomicUsize::new(1);
    net.tokens(move |_| {
        token(&format!(
            "token-{}",
            count.fetch_add(1, Ordering::SeqCst) + 1
        ))
    });
    let (first, second) = tokio::join!(
        refuse(&one, &message, 401, "Bearer"),
        refuse(&two, &message, 401, "Bearer"),
    );
    first.unwrap();
    second.unwrap();
    assert_eq!(net.redeemed().len(), 2);
    for auth in [&one, &two] {
        assert_eq!(shown(&sent(auth).await.unwrap()), Some("token-2"));
    }
}

/// Some services name their users in the query.
#[tokio::test]
async fn tokens_for_a_url_with_one_query_are_not_used_for_another_query() {
    let store = MemoryTokenStore::new();
    let net = Net::new();
    let client = |query: &str| {
        let builder = net.client_of(&format!("{SERVER}{query}"));
        builder.store(store.clone()).build().unwrap()
    };
    let alice = client("?tenant=alice");
    let message = signed_in(&alice).await;
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"admin\"";
    refuse(&alice, &message, 403, challenge).await.unwrap();
    for query in ["?tenant=mallory", ""] {
        let other = client(query);
        assert!(!other.is_signed_in().await.unwrap(), "{query}");
        assert_eq!(shown(&sent(&other).await.unwrap()), None, "{query}");
    }
    assert!(client("?tenant=alice").is_signed_in().await.unwrap());
    // The scope that is stored for one user is not requested for the other, either.
    let mallory = client("?tenant=mallory");
    signed_in(&mallory).await;
    let visit = net.visits().pop().unwrap();
    let scope = visit.get("scope").map_or("", String::as_str);
    assert!(!scope.contains("admin"), "{visit:?}");
}

#[tokio::test]
async fn tokens_that_another_program_has_stored_are_used() {
    let folder = Folder::new("since");
    let net = Net::new();
    let one = net.client().store(folder.store()).build().unwrap();
    let message = sent(&one).await.unwrap();
    let two = net.client().store(folder.store()).build().unwrap();
    signed_in(&two).await;
    refuse(&one, &message, 401, "Bearer").await.unwrap();
    assert_eq!(shown(&sent(&one).await.unwrap()), Some("token-1"));
    assert_eq!(net.visits().len(), 1);
    // The other program has more scopes now.
    let message = sent(&one).await.unwrap();
    net.tokens(|_| token("token-2"));
    let challenge = "Bearer error=\"insufficient_scope\", scope=\"more\"";
    for auth in [&two, &one] {
        refuse(auth, &message, 403, challenge).await.unwrap();
        assert_eq!(shown(&sent(auth).await.unwrap()), Some("token-2"));
    }
    assert_eq!(net.visits().len(), 2);
}

#[tokio::test]
async fn a_bound_token_of_another_program_is_used_with_its_key() {
    let folder = Folder::new("bound");
    let net = Net::new();
    net.tokens(|_| {
        let body = json!({ "access_token": "bound", "token_type": "DPoP" });
        (200, body.to_string())
    });
    let client = || net.client().require_dpop().store(folder.store());
    let one = client().build().unwrap();
    let message = sent(&one).await.unwrap();
    signed_in(&client().build().unwrap()).await;
    refuse(&one, &message, 401, "DPoP").await.unwrap();
    let parts = sent(&one).await.unwrap();
    assert_eq!(parts.headers["authorization"], "DPoP bound");
    assert!(parts.headers.contains_key("dpop"));
    assert_eq!(net.visits().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("owner");
    let store = folder.store();
    store.save("a", &"one".into()).await.unwrap();
    store.save("b", &"two".into()).await.unwrap();
    store.save("a", &"three".into()).await.unwrap();
    let file = std::fs::metadata(folder.0.join("tokens.json")).unwrap();
    assert_eq!(file.permissions().mode() & 0o777, 0o600);
    let found = store.load("a").await.unwrap().unwrap();
    assert_eq!(found.expose(), "three");
    store.remove("a").await.unwrap();
    assert!(store.load("a").await.unwrap().is_none());
    assert!(store.load("b").await.unwrap().is_some());
}

#[tokio::test]
async fn a_broken_file_is_neither_quoted_nor_overwritten() {
    let folder = Folder::new("broken");
    let path = folder.0.join("tokens.json");
    std::fs::write(&path, "{\"a\": \"canary").unwrap();
    let store = folder.store();
    let error = store.load("a").await.unwrap_err();
    assert!(error.to_string().contains("tokens.json"), "{error}");
    assert!(!format!("{error} {error:?}").contains("canary"));
    store.save("a", &"x".into()).await.unwrap_err();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{\"a\": \"canary");
}
