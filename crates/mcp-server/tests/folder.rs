//! A folder whose files are read by hostile paths.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use mcp_server::testing::{TestClient, block_on};
use mcp_server::{Folder, Server, State, resource};

const SECRET: &str = "a secret outside of the folder";
const INSIDE: &str = "a file in the folder";

/// A folder `root` with files, beside a secret. Removed on drop.
struct Tree(PathBuf);

impl Tree {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("mcp-folder-{name}-{}", std::process::id()));
        // A test that was killed can have left a folder, and process ids are used again.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("root/sub")).unwrap();
        fs::write(path.join("secret"), SECRET).unwrap();
        for file in ["root/a.txt", "root/sub/b.txt", "root/%2e%2e"] {
            fs::write(path.join(file), INSIDE).unwrap();
        }
        Self(path)
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    fn folder(&self) -> Folder {
        Folder::open(self.root()).unwrap()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Paths that would lead to the secret if one step decoded, normalized or joined them carelessly.
fn hostile_paths(secret: &Path) -> Vec<String> {
    let up = [
        "..",
        "%2e%2e",
        "%2E.",
        "%252e%252e",
        ".%00.",
        "..%20",
        ".. ",
        "...",
        "\u{ff0e}\u{ff0e}",
        "%c0%ae%c0%ae",
        "..;",
        "sub/..",
        "./..",
        "a.txt/..",
        "..\0",
        "%u002e%u002e",
    ];
    let separators = ["/", "//", "\\", "%2f", "%5c", "%252f", "/./", "\u{2215}"];
    let mut paths = Vec::new();
    for up in up {
        for separator in separators {
            for start in ["", "/", "sub/", "./"] {
                paths.push(format!("{start}{up}{separator}secret"));
            }
        }
    }
    let absolute = secret.display();
    for prefix in [
        "",
        "/",
        "//",
        "file://",
        "C:",
        "\\\\?\\",
        "\\\\localhost\\c$",
        "//localhost/",
    ] {
        paths.push(format!("{prefix}{absolute}"));
    }
    paths
}

#[test]
fn files_of_the_folder_are_read() {
    let tree = Tree::new("read");
    let folder = tree.folder();
    // Paths are not decoded.
    for path in ["a.txt", "sub/b.txt", "%2e%2e"] {
        assert_eq!(
            folder.read(path).unwrap().unwrap(),
            INSIDE.as_bytes(),
            "{path}"
        );
    }
    for path in [
        "",
        "sub",
        "sub/",
        "missing",
        "a.txt/b",
        "/a.txt",
        "a.txt\0",
        // Only one path leads to a file.
        "./a.txt",
        "sub//b.txt",
        "sub/./b.txt",
        "sub/../a.txt",
        &"x/".repeat(10_000),
    ] {
        assert_eq!(folder.read(path).unwrap(), None, "{path}");
    }
    let error = folder.with_max_bytes(5).read("a.txt").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    assert!(
        error
            .to_string()
            .contains("5 bytes, the limit of Folder::with_max_bytes")
    );
}

#[resource("file:///{+path}")]
fn file(path: String, State(folder): State<Folder>) -> std::io::Result<Option<Vec<u8>>> {
    folder.read(&path)
}

#[test]
fn t24_no_path_leads_out_of_the_folder() {
    let tree = Tree::new("hostile");
    let paths = hostile_paths(&tree.0.join("secret"));
    assert!(paths.len() > 500, "{}", paths.len());
    let folder = tree.folder();
    for path in &paths {
        let read = folder.read(path).unwrap();
        assert_ne!(read.as_deref(), Some(SECRET.as_bytes()), "{path}");
    }
    let server = Server::builder("files", "1.0.0")
        .state(folder)
        .resource(file::resource());
    let client = TestClient::new(server);
    let read = block_on(client.read_resource("file:///sub/b.txt")).unwrap();
    assert_eq!(read.contents.len(), 1);
    for path in &paths {
        if let Ok(result) = block_on(client.read_resource(&format!("file:///{path}"))) {
            let text = serde_json::to_string(&result).unwrap();
            assert!(
                !text.contains(&data_encoding::BASE64.encode(SECRET.as_bytes())),
                "{path}"
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn t24_links_that_change_at_the_same_time_do_not_lead_out_of_the_folder() {
    use std::os::unix::fs::symlink;

    let tree = Tree::new("links");
    let root = tree.root();
    let folder = tree.folder();
    symlink("sub/b.txt", root.join("inner")).unwrap();
    symlink("../secret", root.join("outer")).unwrap();
    symlink(tree.0.join("secret"), root.join("absolute")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    assert_eq!(folder.read("inner").unwrap().unwrap(), INSIDE.as_bytes());
    for path in ["outer", "absolute"] {
        assert_eq!(folder.read(path).unwrap(), None, "{path}");
    }
    folder.read("loop").unwrap_err();

    // `swap/secret` is a file of the folder or the secret, in turn.
    fs::create_dir(root.join("other")).unwrap();
    fs::write(root.join("other/secret"), INSIDE).unwrap();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                for target in ["other", ".."] {
                    symlink(target, root.join("next")).unwrap();
                    fs::rename(root.join("next"), root.join("swap")).unwrap();
                }
            }
        });
        for _ in 0..20_000 {
            let read = folder.read("swap/secret").unwrap();
            assert!(read.is_none_or(|bytes| bytes == INSIDE.as_bytes()));
        }
        is_done.store(true, Ordering::Relaxed);
    });
}

#[cfg(unix)]
#[test]
fn reading_a_named_pipe_from_a_folder_returns_nothing() {
    let tree = Tree::new("pipe");
    let pipe = tree.root().join("pipe");
    let made = std::process::Command::new("mkfifo")
        .arg(&pipe)
        .status()
        .unwrap();
    assert!(made.success());
    assert_eq!(tree.folder().read("pipe").unwrap(), None);
}

#[cfg(unix)]
#[test]
fn a_pipe_that_replaces_a_file_does_not_block_a_read() {
    use std::collections::HashSet;
    use std::process::Command;
    use std::sync::mpsc;
    use std::time::Duration;

    let tree = Tree::new("swapped-pipe");
    let path = |name: &str| tree.root().join(name);
    let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
    assert!(made.success());
    let (folder, is_done) = (tree.folder(), AtomicBool::new(false));
    let (report, done) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                fs::hard_link(path("pipe"), path("next")).unwrap();
                fs::rename(path("next"), path("a.txt")).unwrap();
                fs::write(path("next"), INSIDE).unwrap();
                fs::rename(path("next"), path("a.txt")).unwrap();
                (0..8).for_each(|_| drop(fs::metadata(path("a.txt"))));
            }
        });
        // Not in the scope: a read that blocks must not keep the test from failing.
        std::thread::spawn(move || {
            let reads: HashSet<_> = (0..200_000)
                .map(|_| folder.read("a.txt").unwrap())
                .collect();
            report.send(reads).unwrap();
        });
        let reads = done.recv_timeout(Duration::from_secs(60));
        is_done.store(true, Ordering::Relaxed);
        let reads = reads.expect("no read waits for the other end of the pipe");
        assert!(reads.contains(&Some(INSIDE.into())) && reads.contains(&None));
    });
}
