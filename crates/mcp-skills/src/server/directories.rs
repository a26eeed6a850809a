//! Lists the folders of all skills, for `resources/directory/read`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::skill::File;

/// The MIME type of a folder.
const DIRECTORY: &str = "inode/directory";

/// A file or folder that is contained in another folder.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Child {
    pub(super) uri: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

/// The children of each folder, sorted by URI. The key is the URI of the folder, without a slash at its end.
#[derive(Debug, Default)]
pub(super) struct Directories(BTreeMap<String, Vec<Child>>);

impl Directories {
    /// Collects the folders of these files. The keys of `files` are URIs.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = (&'a String, &'a File)>) -> Self {
        let mut all: BTreeMap<String, BTreeMap<String, Child>> = BTreeMap::new();
        for (uri, file) in files {
            let child = Child {
                uri: uri.clone(),
                name: file.name.clone(),
                description: file.description.clone(),
                mime_type: file.mime_type.clone(),
                size: Some(file.size),
            };
            add(&mut all, child);
        }
        let sorted = all
            .into_iter()
            .map(|(uri, children)| (uri, children.into_values().collect()));
        Self(sorted.collect())
    }

    pub(super) fn children(&self, uri: &str) -> Option<&[Child]> {
        self.0.get(uri).map(Vec::as_slice)
    }
}

/// Adds a child to its folder, and the folder to its parent folder.
fn add(all: &mut BTreeMap<String, BTreeMap<String, Child>>, mut child: Child) {
    while let Some((folder, _)) = child.uri.rsplit_once('/') {
        if folder.ends_with('/') {
            // The child is the first segment, such as `skill://name`, and has no parent folder.
            return;
        }
        let folder = folder.to_owned();
        let is_known = all.contains_key(&folder);
        all.entry(folder.clone())
            .or_default()
            .insert(child.uri.clone(), child);
        if is_known {
            return;
        }
        let name = folder.rsplit('/').next().unwrap_or_default().to_owned();
        child = Child {
            uri: folder,
            name,
            description: None,
            mime_type: DIRECTORY.to_owned(),
            size: None,
        };
    }
}
