//! Reads one skill from files in memory or on the disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use mcp_server::{Folder, ResourceBody};

use crate::entry::{INSTRUCTIONS, check_name, check_size};
use crate::frontmatter;
use crate::{FileEntry, MAX_BYTES, MAX_FILES, Manifest, SkillEntry, SkillError, SkillErrorKind};

/// The characters that are percent-encoded in the path of a URI.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// The reason why an item in a folder is not read.
const NOT_A_FILE: &str =
    "symbolic links, special files, and names with ':' or '\\' are not allowed in skills";

/// Maximum depth of folders in the folder of a skill.
const MAX_DEPTH: usize = 16;

/// A skill with its files.
#[derive(Debug, Clone)]
pub struct Skill {
    entry: SkillEntry,
    /// The files, by URI.
    files: BTreeMap<String, File>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct File {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) mime_type: String,
    pub(crate) size: u64,
    pub(crate) content: Content,
}

impl Skill {
    /// Creates a skill from files in memory. Each file has a path with slashes, and one path must be `SKILL.md`. `path` is the
    /// path of the skill in the URIs, for example `review` or `acme/review`. Its last segment is the name of the skill.
    ///
    /// # Errors
    /// The `SKILL.md` is missing, its frontmatter is not valid or has another name, or the skill is too large.
    pub fn from_files<P: Into<String>, C: Into<Vec<u8>>>(
        path: &str,
        files: impl IntoIterator<Item = (P, C)>,
    ) -> Result<Self, SkillError> {
        let files = files.into_iter();
        let files = files.map(|(path, content)| (path.into(), content.into()));
        Self::new(path, files.collect())
    }

    /// Reads a skill from a folder. The name of the folder is the name of the skill. Files whose name begins with a dot are left
    /// out.
    ///
    /// # Errors
    /// A file cannot be read or is a symbolic link, and the errors of [`from_files`](Self::from_files).
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, SkillError> {
        let folder = folder.as_ref();
        let name = folder.file_name().and_then(|name| name.to_str());
        let files = read_files(folder, &open(folder)?, "")?;
        Self::new(name.unwrap_or_default(), files)
    }

    fn new(path: &str, files: BTreeMap<String, Vec<u8>>) -> Result<Self, SkillError> {
        let refuse = |kind, problem: String| SkillError::new(kind, path, problem);
        let name = path.rsplit('/').next().unwrap_or_default();
        check_name(name).map_err(|problem| refuse(SkillErrorKind::Name, problem))?;
        let sizes = files.values().map(|content| content.len() as u64);
        check_size(sizes).map_err(|problem| refuse(SkillErrorKind::TooLarge, problem))?;
        let bad = |problem: &str| {
            refuse(
                SkillErrorKind::Frontmatter,
                format!("{INSTRUCTIONS}: {problem}"),
            )
        };
        let text = files
            .get(INSTRUCTIONS)
            .ok_or_else(|| bad("it is missing"))?;
        let text = str::from_utf8(text).map_err(|_| bad("it is not UTF-8"))?;
        let (frontmatter, _) = frontmatter::split(text).map_err(|problem| bad(&problem))?;
        let base = format!("skill://{}", encoded(path));
        let mut resources = Vec::new();
        let mut all = BTreeMap::new();
        for (path, content) in files {
            let uri = format!("{base}/{}", encoded(&path));
            resources.push(FileEntry::of(&uri, &content));
            all.insert(uri, File::new(path, content));
        }
        let entry = SkillEntry {
            uri: format!("{base}/{INSTRUCTIONS}"),
            frontmatter,
            resources: Manifest::Files(resources),
        };
        entry.check()?;
        if let Some(file) = all.get_mut(&entry.uri) {
            file.name = entry.name().to_owned();
            file.description = Some(entry.description().to_owned());
        }
        Ok(Self { entry, files: all })
    }

    /// Returns the entry that clients see.
    pub fn entry(&self) -> &SkillEntry {
        &self.entry
    }

    pub(super) fn into_files(self) -> BTreeMap<String, File> {
        self.files
    }
}

/// The content of a file. All reads share it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Text(Arc<str>),
    Bytes(Arc<[u8]>),
}

impl From<Content> for ResourceBody {
    fn from(content: Content) -> Self {
        match content {
            Content::Text(text) => Self::Text(text.as_ref().to_owned()),
            Content::Bytes(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl File {
    fn new(path: String, content: Vec<u8>) -> Self {
        let mime_type = match path.ends_with(".md") {
            true => "text/markdown".to_owned(),
            false => mime_guess::from_path(&path)
                .first_or_octet_stream()
                .to_string(),
        };
        Self {
            mime_type,
            name: path,
            description: None,
            size: content.len() as u64,
            content: match String::from_utf8(content) {
                Ok(text) => Content::Text(text.into()),
                Err(error) => Content::Bytes(error.into_bytes().into()),
            },
        }
    }
}

fn encoded(path: &str) -> String {
    let segments = path
        .split('/')
        .map(|segment| utf8_percent_encode(segment, ENCODED).to_string());
    segments.collect::<Vec<_>>().join("/")
}

/// Reads all skills below a folder.
pub(super) fn all_in(root: &Path) -> Result<Vec<Skill>, SkillError> {
    let opened = open(root)?;
    let mut skills = Vec::new();
    let mut folders = vec![(root.to_owned(), String::new(), 0)];
    while let Some((folder, path, depth)) = folders.pop() {
        for child in children(&folder)? {
            let (name, entry) = child?;
            if !entry.is_dir() {
                continue;
            }
            if depth == MAX_DEPTH {
                return Err(failed(
                    &entry,
                    format!("the path has more than {MAX_DEPTH} levels of folders"),
                ));
            }
            let path = match path.is_empty() {
                true => name,
                false => format!("{path}/{name}"),
            };
            if entry.join(INSTRUCTIONS).is_file() {
                skills.push(Skill::new(&path, read_files(root, &opened, &path)?)?);
            }
            folders.push((entry, path, depth + 1));
        }
    }
    Ok(skills)
}

/// Opens a folder. No path within the opened folder leads out of it, even if files are replaced during a read.
fn open(root: &Path) -> Result<Folder, SkillError> {
    let folder = Folder::open(root).map_err(|error| failed(root, error.to_string()))?;
    Ok(folder.with_max_bytes(MAX_BYTES))
}

/// Reads the files of the folder `base` in `root` and of its subfolders. The keys are paths relative to `base`, with slashes.
/// Another process may replace files during the reads, but `opened` does not follow a link out of `root`.
fn read_files(
    root: &Path,
    opened: &Folder,
    base: &str,
) -> Result<BTreeMap<String, Vec<u8>>, SkillError> {
    let root = root.join(base);
    let mut files = BTreeMap::new();
    let mut bytes = 0;
    let mut folders = vec![(root.clone(), String::new(), 0)];
    while let Some((folder, path, depth)) = folders.pop() {
        for child in children(&folder)? {
            let (name, entry) = child?;
            let path = format!("{path}{name}");
            if entry.is_dir() {
                if depth == MAX_DEPTH {
                    return Err(failed(
                        &entry,
                        format!("the path has more than {MAX_DEPTH} levels of folders"),
                    ));
                }
                folders.push((entry, format!("{path}/"), depth + 1));
                continue;
            }
            let too_large = |problem: &str| {
                SkillError::new(
                    SkillErrorKind::TooLarge,
                    root.display().to_string(),
                    problem,
                )
            };
            if files.len() == MAX_FILES {
                return Err(too_large(&format!(
                    "the skill has more than {MAX_FILES} files"
                )));
            }
            let too_many_bytes =
                || too_large(&format!("the files have more than {MAX_BYTES} bytes"));
            let inside = match base {
                "" => path.clone(),
                base => format!("{base}/{path}"),
            };
            let content = match opened.read(&inside) {
                Ok(Some(content)) => content,
                Ok(None) => return Err(failed(&entry, NOT_A_FILE.to_owned())),
                Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                    return Err(too_many_bytes());
                }
                Err(error) => return Err(failed(&entry, error.to_string())),
            };
            bytes += content.len() as u64;
            if bytes > MAX_BYTES {
                return Err(too_many_bytes());
            }
            files.insert(path, content);
        }
    }
    Ok(files)
}

/// Returns an iterator over the files and folders in a folder. Leaves out names that begin with a dot. Entries are read one by
/// one, so that reading a large folder can stop at a limit.
///
/// # Errors
/// An entry is a symbolic link, which could lead out of the folder, or another special file.
fn children(
    folder: &Path,
) -> Result<impl Iterator<Item = Result<(String, PathBuf), SkillError>>, SkillError> {
    let problem = |error: std::io::Error| failed(folder, error.to_string());
    let entries = fs::read_dir(folder).map_err(problem)?;
    let child = move |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.map_err(problem)?;
        let name = entry.file_name().into_string();
        let name = name
            .map_err(|name| failed(&folder.join(name), "the file name is not UTF-8".to_owned()))?;
        if name.starts_with('.') {
            return Ok(None);
        }
        let kind = entry.file_type().map_err(problem)?;
        if !kind.is_file() && !kind.is_dir() {
            return Err(failed(&entry.path(), NOT_A_FILE.to_owned()));
        }
        Ok(Some((name, entry.path())))
    };
    Ok(entries.filter_map(move |entry| child(entry).transpose()))
}

fn failed(path: &Path, problem: String) -> SkillError {
    SkillError::new(SkillErrorKind::File, path.display().to_string(), problem)
}
