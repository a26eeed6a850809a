//! A token store in a file.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use mcp_protocol::BoxFuture;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};
use zeroize::Zeroizing;

use super::{StoreLock, TokenStore};
use crate::Secret;
use crate::digest::sha256;
use crate::error::{Error, ErrorKind};

/// Maximum size of the file of a store, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Maximum size of the tokens for one server, in bytes. Otherwise, one server could fill the whole file.
const MAX_ENTRY_BYTES: usize = 64 << 10;
/// Interval between attempts to lock the file.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Maximum time for all attempts to lock the file. This is enough for a renewal by another program, which takes three requests.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);

/// A token store in a file that only its owner can read. Each change replaces the whole file.
/// Programs that share the file wait for each other.
///
/// Empty lock files, whose names end in `.lock`, remain beside the file: one for changes, and one for each server. The tokens for
/// one server can have at most 64 KiB.
#[derive(Debug, Clone)]
pub struct FileTokenStore {
    path: PathBuf,
}

impl FileTokenStore {
    /// Creates a store in this file. The file need not exist; its folder must.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        let path = self.path.clone();
        let done = spawn_blocking(move || work(&path)).await;
        let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
        done.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: io::Error) -> Error {
        let path = self.path.display();
        Error::caused(
            ErrorKind::Store,
            format!("the token store {path} failed: {error}"),
            error,
        )
    }

    /// Changes the content of the file while holding the lock.
    async fn change(
        &self,
        change: impl FnOnce(&mut Entries) + Send + 'static,
    ) -> Result<(), Error> {
        // A separate lock, because the caller may hold the lock for renewals.
        let _lock = self.lock_file("write").await?;
        self.run_blocking(move |path| {
            let mut all = read(path)?;
            change(&mut all);
            write(path, &all)
        })
        .await
    }

    async fn lock_file(&self, which: &str) -> Result<File, Error> {
        let mut path = self.path.clone().into_os_string();
        path.push(format!(".{which}.lock"));
        let path = PathBuf::from(path);
        let start = Instant::now();
        loop {
            if let Some(lock) = try_lock(&path).map_err(|error| self.failed(error))? {
                return Ok(lock);
            }
            if start.elapsed() > LOCK_TIMEOUT {
                let seconds = LOCK_TIMEOUT.as_secs();
                let path = path.display();
                return Err(Error::store(format!(
                    "another program has held {path} for {seconds} s"
                )));
            }
            sleep(LOCK_POLL_INTERVAL).await;
        }
    }
}

impl TokenStore for FileTokenStore {
    fn load<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<Option<Secret>, Error>> {
        let name = name.to_owned();
        Box::pin(self.run_blocking(move |path| Ok(read(path)?.remove(&name).map(Secret::new))))
    }

    fn save<'a>(&'a self, name: &'a str, text: &'a Secret) -> BoxFuture<'a, Result<(), Error>> {
        let (name, text) = (name.to_owned(), text.expose().to_owned());
        Box::pin(async move {
            if text.len() > MAX_ENTRY_BYTES {
                return Err(Error::store(format!(
                    "the tokens for {name} have {} bytes; the maximum is {MAX_ENTRY_BYTES}",
                    text.len()
                )));
            }
            self.change(move |all| {
                all.insert(name, text);
            })
            .await
        })
    }

    fn remove<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<(), Error>> {
        let name = name.to_owned();
        Box::pin(self.change(move |all| {
            all.remove(&name);
        }))
    }

    fn lock<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<StoreLock, Error>> {
        // Each server has a separate lock, so a slow server delays only the renewals of its own tokens.
        let id = sha256(name);
        Box::pin(async move {
            let lock = self.lock_file(&format!("renew-{id}")).await;
            lock.map(StoreLock::new)
        })
    }
}

type Entries = BTreeMap<String, String>;

fn read(path: &Path) -> io::Result<Entries> {
    let metadata = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Entries::new()),
        metadata => metadata?,
    };
    check_regular(&metadata)?;
    if metadata.len() > MAX_FILE_BYTES {
        return Err(io::Error::other(
            "the file is larger than a token store can be: check that this path names a token store, or move the file away and sign in again",
        ));
    }
    let text = Zeroizing::new(fs::read(path)?);
    // The error of the parser might quote a token.
    mcp_jsonrpc::decode_document(&*text)
        .map_err(|_| io::Error::other("the file is not a token store: check its path, or move the file away and sign in again"))
}

fn check_regular(metadata: &fs::Metadata) -> io::Result<()> {
    match metadata.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Writes a temporary file and renames it, so that readers see either the old or the new content.
fn write(path: &Path, all: &Entries) -> io::Result<()> {
    let text = Zeroizing::new(serde_json::to_vec_pretty(all).map_err(io::Error::other)?);
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(io::Error::other(
            "the token store is full; sign out of servers that you do not use (`mcp logout URL`), or use another file",
        ));
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let temporary = PathBuf::from(temporary);
    match fs::remove_file(&temporary) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private().create_new(true).open(&temporary)?;
    file.write_all(&text)?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

/// Returns options for writing a file. If the file is new, only its owner can read it.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns the lock, or `None` if it is not free. The operating system releases the lock when the process that holds it ends.
#[cfg(unix)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::{FlockOperation, OFlags, flock};

    let mut options = private();
    // A link could name a file of another program, and opening a pipe would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    OpenOptionsExt::custom_flags(&mut options, flags.bits().cast_signed());
    let file = options.create(true).truncate(false).open(path)?;
    check_regular(&file.metadata()?)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the lock, or `None` if it is not free. The operating system releases the lock when the process that holds it ends.
#[cfg(windows)]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    use std::os::windows::fs::OpenOptionsExt;

    /// The error code `ERROR_SHARING_VIOLATION`: another process has opened the file.
    const HELD: i32 = 32;
    let open = private()
        .create(true)
        .truncate(false)
        .share_mode(0)
        .open(path);
    match open {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.raw_os_error() == Some(HELD) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a lock without effect. This operating system has no lock that is released when the process that holds it ends.
#[cfg(not(any(unix, windows)))]
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    private().create(true).truncate(false).open(path).map(Some)
}
