//! Replaces files atomically.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;

/// Replaces the content of a file atomically, so that a reader sees either the old or the new content. Writes the new content to
/// a new file in the same folder. Other programs cannot predict the name of this file. If `path` is a symbolic link, the link is
/// replaced. If `is_private` is `true`, only the owner can read the file on Unix. Blocks the thread.
///
/// # Errors
/// The folder cannot be written, or the system has no random numbers. The old content is then unchanged.
pub fn replace_file(path: &Path, content: &[u8], is_private: bool) -> io::Result<()> {
    let temporary = temporary_beside(path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if is_private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    #[cfg(not(unix))]
    let _ = is_private;
    // An error here means that the file was not created, so there is nothing to remove.
    let mut file = options.open(&temporary)?;
    let written = file
        .write_all(content)
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn temporary_beside(path: &Path) -> io::Result<PathBuf> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", HEXLOWER.encode(&random)));
    Ok(name.into())
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn replacing_a_file_replaces_a_symbolic_link_and_does_not_follow_it() {
        let folder = std::env::temp_dir().join(format!("mcp-replace-{}", std::process::id()));
        // A test that was killed can have left a folder, and process ids are used again.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let [victim, path] = ["victim", "file"].map(|name| folder.join(name));
        fs::write(&victim, "kept").unwrap();
        symlink(&victim, &path).unwrap();
        replace_file(&path, b"new", true).unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "kept");
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert!(metadata.is_file());
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        let left: Vec<_> = fs::read_dir(&folder).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
        assert_ne!(
            temporary_beside(&path).unwrap(),
            temporary_beside(&path).unwrap()
        );
        fs::remove_dir_all(folder).unwrap();
    }
}
