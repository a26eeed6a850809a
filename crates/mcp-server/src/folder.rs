//! Access to the files of one folder by paths that clients send.

use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};

/// A folder whose files are read by paths from untrusted sources, such as the variable of a resource template. Clones share
/// the open folder.
///
/// A path cannot lead out of the folder through `..`, as an absolute path or through a symbolic link. This also holds if another
/// process replaces links at the same time. A symbolic link is followed if its target is within the folder.
///
/// ```no_run
/// use mcp_server::{Folder, HandlerError, Server, State, resource};
///
/// #[resource("docs:///{+path}")]
/// async fn document(path: String, State(folder): State<Folder>) -> Result<Option<Vec<u8>>, HandlerError> {
///     Ok(tokio::task::spawn_blocking(move || folder.read(&path)).await??)
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::builder("docs", "1.0.0")
///     .state(Folder::open("/srv/docs")?)
///     .resource(document::resource())
///     .build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Folder {
    dir: Arc<Dir>,
    max_bytes: u64,
}

impl Folder {
    /// Opens a folder. The path itself is trusted: it may contain `..` and symbolic links.
    ///
    /// # Errors
    /// The folder does not exist or cannot be opened.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        Ok(Self {
            dir: Arc::new(dir),
            max_bytes: 4 << 20,
        })
    }

    /// Sets the maximum size of a file. Default 4 MiB.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Reads a file; blocks the thread. The path is relative to the folder, and its separator is `/` on every system. The path is
    /// not decoded: `%2e` is a name of three characters.
    ///
    /// Returns `None` if the path does not exist, does not name a regular file, or leads out of the folder. Also returns `None`
    /// if this process may not open the file. The cases are not distinguished, so that clients learn nothing about other files.
    ///
    /// # Errors
    /// The file is larger than the limit ([`FileTooLarge`](io::ErrorKind::FileTooLarge)), or reading failed.
    pub fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        if !path.split('/').all(is_name) {
            return Ok(None);
        }
        // The metadata is read before the file is opened, because opening a device can have an effect.
        let opened = match self.dir.metadata(path) {
            Ok(metadata) if metadata.is_file() => self.dir.open_with(path, &read_only()),
            Ok(_) => return Ok(None),
            Err(error) => Err(error),
        };
        let file = match opened {
            Ok(file) => file,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        file.take(self.max_bytes.saturating_add(1))
            .read_to_end(&mut bytes)?;
        if bytes.len() as u64 > self.max_bytes {
            let max_bytes = self.max_bytes;
            let message = format!(
                "the file is larger than {max_bytes} bytes, the limit of Folder::with_max_bytes"
            );
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(Some(bytes))
    }
}

/// Returns the options to open a file for reading without blocking: a pipe may have replaced the file, and opening a
/// pipe would wait for a writer.
fn read_only() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options
}

/// Returns whether `part`, one segment of a path, can be the name of a file or folder on every system.
fn is_name(part: &str) -> bool {
    !matches!(part, "" | "." | "..") && !part.contains(['\\', ':', '\0'])
}

fn is_missing(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound, PermissionDenied};
    matches!(
        error.kind(),
        // `PermissionDenied` is also the error of a path that leads out of the folder.
        InvalidFilename | InvalidInput | NotADirectory | NotFound | PermissionDenied
    )
}
