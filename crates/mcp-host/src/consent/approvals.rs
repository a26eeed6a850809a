//! Approvals: decisions of the user that stay valid after the host has ended.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::{ActionKind, LaunchPlan};
use crate::replace_file::replace_file;
use crate::type_names::without_type_names;

/// The server, the kind of action and the item that an [`Approval`] belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalKey {
    /// The name of the server in the configuration.
    pub server: String,
    /// The kind of action.
    pub kind: ActionKind,
    /// The name that the server gives the tool or prompt, or the URI of the resource. Empty for other kinds of actions.
    pub name: String,
}

/// The approved version of a tool, prompt, resource, skill, server or request. If the tool definition or the server configuration
/// changes, a new approval is needed.
///
/// Each approval has a separate random key, so two approvals of the same server have different fingerprints. Without the key, the
/// hash reveals no values of variables and headers. The fingerprint contains the key, so a store must be readable only by its
/// owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Approval {
    /// The SHA-256 hash of the approved item. For [`CallTool`](ActionKind::CallTool), it is the hash of the tool definition
    /// ([`tool_hash`](mcp_client::tool_hash)); for [`Prompt`](ActionKind::Prompt), of the definition; for
    /// [`Resource`](ActionKind::Resource), of the URI; for [`Skill`](ActionKind::Skill), of its list of files. For
    /// [`Connect`](ActionKind::Connect), it is the fingerprint of the server. Otherwise, it is empty.
    pub definition: String,
    /// A random key, `:`, and a SHA-256 hash of the key and the server. For a program, the hash includes the path of the program,
    /// its arguments, its working directory, and its variables with their values. For a URL, it includes the URL and the headers.
    /// If a variable or header refers to a variable of the host, the reference is hashed, not the value. The fingerprint is empty
    /// for a server with a [connector](crate::HostBuilder::connector).
    pub fingerprint: String,
}

impl Approval {
    /// Creates an approval with a new key; `None` if the system has no random numbers.
    pub(super) fn new(definition: String, plan: Option<&LaunchPlan>) -> Option<Self> {
        let fingerprint = match plan {
            Some(plan) => plan.new_fingerprint()?,
            None => String::new(),
        };
        Some(Self {
            definition,
            fingerprint,
        })
    }

    /// Returns whether this approval was given for the definition and the server in `plan`.
    pub(super) fn covers(&self, definition: &str, plan: Option<&LaunchPlan>) -> bool {
        let is_same_server = match plan {
            Some(plan) => plan.has_fingerprint(&self.fingerprint),
            None => self.fingerprint.is_empty(),
        };
        is_same_server && self.definition == definition
    }
}

/// Storage for decisions with [`Decision::AllowAlways`](super::Decision::AllowAlways). A program that can write to this storage
/// can allow actions, so the storage must be protected. The host calls the methods on a thread for blocking work.
pub trait ApprovalStore: Send + Sync + 'static {
    /// Returns the approval.
    ///
    /// # Errors
    /// The storage cannot be read. The host then treats the action as not approved.
    fn load(&self, key: &ApprovalKey) -> io::Result<Option<Approval>>;

    /// Replaces the approval.
    ///
    /// # Errors
    /// The storage cannot be written. The approval is then valid until the host ends.
    fn save(&self, key: &ApprovalKey, approval: &Approval) -> io::Result<()>;

    /// Removes the approval.
    ///
    /// # Errors
    /// The storage cannot be written.
    fn remove(&self, key: &ApprovalKey) -> io::Result<()>;
}

/// Maximum size of a file with approvals, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Approvals in a JSON file. On Unix, the file is created with mode 0600. Reading it fails if other users can write to it.
/// Several processes can share the file. If two processes write at the same time, one approval may be lost, and the user is asked
/// again.
#[derive(Debug)]
pub struct ApprovalFile {
    path: PathBuf,
    /// A lock that is held while the file is replaced.
    writing: Mutex<()>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    approvals: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
struct Entry {
    #[serde(flatten)]
    key: ApprovalKey,
    #[serde(flatten)]
    approval: Approval,
}

impl ApprovalFile {
    /// Creates a store in this file. The file and its folder are created when the first approval is saved.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            writing: Mutex::new(()),
        }
    }

    fn read(&self) -> io::Result<Content> {
        let file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::default()),
            file => file?,
        };
        check_mode(&file, &self.path)?;
        let mut text = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut text)?;
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(invalid(
                &self.path,
                format_args!("more than {MAX_FILE_BYTES} bytes"),
            ));
        }
        mcp_jsonrpc::decode_document(&text)
            .map_err(|error| invalid(&self.path, without_type_names(&error.to_string())))
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Entry>)) -> io::Result<()> {
        // If a thread has panicked while it held the lock, the file is still complete.
        let _writing = self
            .writing
            .lock()
            .unwrap_or_else(|error| error.into_inner());
        let mut content = self.read()?;
        content.version = 1;
        change(&mut content.approvals);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        replace_file(&self.path, &serde_json::to_vec_pretty(&content)?, true)
    }
}

impl ApprovalStore for ApprovalFile {
    fn load(&self, key: &ApprovalKey) -> io::Result<Option<Approval>> {
        let entries = self.read()?.approvals;
        let entry = entries.into_iter().find(|entry| entry.key == *key);
        Ok(entry.map(|entry| entry.approval))
    }

    fn save(&self, key: &ApprovalKey, approval: &Approval) -> io::Result<()> {
        self.change(|entries| {
            entries.retain(|entry| entry.key != *key);
            entries.push(Entry {
                key: key.clone(),
                approval: approval.clone(),
            });
        })
    }

    fn remove(&self, key: &ApprovalKey) -> io::Result<()> {
        self.change(|entries| entries.retain(|entry| entry.key != *key))
    }
}

fn invalid(path: &Path, detail: impl std::fmt::Display) -> io::Error {
    let message = format!("{}: {detail}; correct or remove the file", path.display());
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Opens a file. If the file does not exist, creates a file that only its owner can read.
///
/// # Errors
/// The file cannot be opened. On Unix, also if it is a pipe; the function does not wait for the other end of the pipe.
#[doc(hidden)]
pub fn open_private_file(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let file = options.open(path)?;
    #[cfg(unix)]
    if std::os::unix::fs::FileTypeExt::is_fifo(&file.metadata()?.file_type()) {
        return Err(invalid(path, format_args!("it is a pipe; expected a file")));
    }
    Ok(file)
}

#[cfg(unix)]
fn check_mode(file: &File, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = file.metadata()?.permissions().mode();
    match mode & 0o022 {
        0 => Ok(()),
        _ => Err(invalid(
            path,
            format_args!("other users can write it (mode {:o})", mode & 0o777),
        )),
    }
}

#[cfg(not(unix))]
fn check_mode(_: &File, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> ApprovalKey {
        ApprovalKey {
            server: "git".to_owned(),
            kind: ActionKind::CallTool,
            name: name.to_owned(),
        }
    }

    #[test]
    fn replacing_or_removing_an_approval_keeps_other_approvals() {
        let folder = std::env::temp_dir().join(format!("mcp-approvals-{}", std::process::id()));
        let path = folder.join("approvals.json");
        let file = ApprovalFile::new(&path);
        let approval = |definition: &str| Approval::new(definition.to_owned(), None).unwrap();
        assert_eq!(file.load(&key("log")).unwrap(), None);
        for (name, definition) in [("log", "1"), ("push", "2"), ("log", "3")] {
            file.save(&key(name), &approval(definition)).unwrap();
        }
        assert_eq!(file.load(&key("log")).unwrap(), Some(approval("3")));
        assert_eq!(file.load(&key("push")).unwrap(), Some(approval("2")));
        file.remove(&key("log")).unwrap();
        assert_eq!(file.load(&key("log")).unwrap(), None);
        assert_eq!(file.load(&key("push")).unwrap(), Some(approval("2")));

        // White space up to the limit is a valid end of the file.
        let mut text = fs::read(&path).unwrap();
        text.resize(usize::try_from(MAX_FILE_BYTES).unwrap(), b' ');
        fs::write(&path, &text).unwrap();
        assert!(file.load(&key("push")).unwrap().is_some());
        text.push(b' ');
        fs::write(&path, &text).unwrap();
        let error = file.load(&key("push")).unwrap_err().to_string();
        assert!(error.contains("more than 4194304 bytes"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
