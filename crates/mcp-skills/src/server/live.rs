//! Skills that change while the server runs.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use mcp_server::{RegistrationError, Resource, ResourceBody, Server};

use super::Skills;
use super::directories::Directories;
use super::skill::File;
use crate::SkillEntry;

/// The current results of the methods of the extension.
#[derive(Default)]
pub(super) struct ServedSkills {
    /// The entries, sorted by URI.
    pub(super) entries: Vec<SkillEntry>,
    pub(super) directories: Directories,
    /// The files, by URI.
    files: BTreeMap<String, File>,
}

impl ServedSkills {
    pub(super) fn of(skills: Skills) -> Self {
        let entries = skills.entries().cloned().collect();
        let mut files = BTreeMap::new();
        for skill in skills.skills.into_values() {
            // If a skill is in the folder of another skill, both skills contain its files.
            files.extend(skill.into_files());
        }
        Self {
            entries,
            directories: Directories::of(&files),
            files,
        }
    }

    pub(super) fn resources<S: Clone + Send + Sync + 'static>(
        &self,
    ) -> impl Iterator<Item = Resource<S>> {
        self.files.iter().map(|(uri, file)| resource(uri, file))
    }
}

fn resource<S: Clone + Send + Sync + 'static>(uri: &str, file: &File) -> Resource<S> {
    let content = file.content.clone();
    let body = move || ResourceBody::from(content.clone());
    let resource = Resource::new(uri, &file.name, body);
    let resource = resource.mime(&file.mime_type).size(file.size);
    match &file.description {
        Some(description) => resource.description(description),
        None => resource,
    }
}

/// A handle that replaces the skills of a running server. [`Skills::live`] returns it. Clones are handles to the same skills.
#[derive(Clone, Default)]
pub struct LiveSkills {
    served: Arc<RwLock<Arc<ServedSkills>>>,
    /// A lock that is held during a replacement.
    replacing: Arc<Mutex<()>>,
}

impl LiveSkills {
    pub(super) fn served(&self) -> Arc<ServedSkills> {
        let served = self.served.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&served)
    }

    pub(super) fn set(&self, skills: Arc<ServedSkills>) {
        *self.served.write().unwrap_or_else(PoisonError::into_inner) = skills;
    }

    /// Replaces all skills of the server, and notifies clients of the files that changed. Returns whether the skills have
    /// changed. If they have not changed, does nothing, so a timer can call this method often.
    ///
    /// If a client reads a changed file at the same moment, it can receive the error that the file does not exist. If a client
    /// has an older entry, it finds that the digest of the changed file differs.
    ///
    /// # Errors
    /// A file has the URI of another resource of the server. The server then keeps the old skills.
    pub fn replace<S: Clone + Send + Sync + 'static>(
        &self,
        server: &Server<S>,
        skills: Skills,
    ) -> Result<bool, RegistrationError> {
        let _replacing = self
            .replacing
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let (old, new) = (self.served(), Arc::new(ServedSkills::of(skills)));
        if old.entries == new.entries {
            return Ok(false);
        }
        let resources = server.resources();
        let is_changed = |uri: &&String| old.files.get(*uri) != new.files.get(*uri);
        let removed: Vec<&String> = old.files.keys().filter(is_changed).collect();
        let added: Vec<&String> = new.files.keys().filter(is_changed).collect();
        for uri in &removed {
            resources.remove(uri);
        }
        let of = |files: &BTreeMap<String, File>, uris: &[&String]| -> Vec<Resource<S>> {
            let files = uris.iter().filter_map(|uri| files.get_key_value(*uri));
            files.map(|(uri, file)| resource(uri, file)).collect()
        };
        if let Err(error) = resources.add(of(&new.files, &added)) {
            resources.add(of(&old.files, &removed))?;
            return Err(error);
        }
        self.set(new);
        for uri in removed {
            resources.updated(uri);
        }
        Ok(true)
    }
}

impl fmt::Debug for LiveSkills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let served = self.served();
        let uris = served.entries.iter().map(|entry| &entry.uri);
        f.debug_list().entries(uris).finish()
    }
}
