//! Serves the skills of a server.

mod directories;
mod live;
mod skill;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mcp_server::schemars::JsonSchema;
use mcp_server::types::JsonObject;
use mcp_server::{Args, Ctx, ErrorObject, Extension, Json, Requirement, ServerBuilder};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{EXTENSION, SkillEntry, SkillError};
pub use live::LiveSkills;
use live::ServedSkills;
pub use skill::Skill;

/// Default number of items on a page.
const PAGE: usize = 50;

/// The skills of a server, for `ServerBuilder::with`.
///
/// The files of the skills are resources, which every client can read. The extension has the methods `skills/list`, `skills/get`
/// and `resources/directory/read`.
#[derive(Debug, Default)]
pub struct Skills {
    /// The skills, by URI.
    skills: BTreeMap<String, Skill>,
    page_size: Option<usize>,
    live: LiveSkills,
}

impl Skills {
    /// Creates a set without skills.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads all skills in a folder. A skill is a folder, at any depth, that contains a `SKILL.md`. Its path relative to `folder`
    /// becomes the path of its URI. The files are kept in memory; see [`live`](Self::live) for changes on the disk.
    ///
    /// # Errors
    /// A skill cannot be read or is not valid; see [`Skill::from_folder`].
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self, SkillError> {
        let skills = skill::all_in(folder.as_ref())?;
        Ok(skills.into_iter().fold(Self::new(), Self::skill))
    }

    /// Adds a skill. If there is already a skill with the same path, replaces it.
    pub fn skill(mut self, skill: Skill) -> Self {
        self.skills.insert(skill.entry().uri.clone(), skill);
        self
    }

    /// Sets the number of items on a page of a list. Default: 50.
    pub fn page_size(mut self, items: usize) -> Self {
        self.page_size = Some(items.max(1));
        self
    }

    /// Returns a handle that replaces the skills while the server runs.
    ///
    /// ```no_run
    /// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
    /// use mcp_server::Server;
    /// use mcp_skills::Skills;
    ///
    /// let skills = Skills::from_folder("skills")?;
    /// let live = skills.live();
    /// let server = Server::builder("skilled", "1.0.0").with(skills).build()?;
    /// // Later, for example with a timer: serves changed files and notifies clients.
    /// live.replace(&server, Skills::from_folder("skills")?)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn live(&self) -> LiveSkills {
        self.live.clone()
    }

    /// Returns the entries, in the order of their URIs.
    pub fn entries(&self) -> impl Iterator<Item = &SkillEntry> {
        self.skills.values().map(Skill::entry)
    }
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct ListParams {
    cursor: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[schemars(crate = "mcp_server::schemars")]
struct GetParams {
    uri: String,
    cursor: Option<String>,
}

impl<S: Clone + Send + Sync + 'static> Extension<S> for Skills {
    fn id(&self) -> &str {
        EXTENSION
    }

    fn settings(&self) -> JsonObject {
        JsonObject::from_iter([("directoryRead".to_owned(), Value::Bool(true))])
    }

    fn requires(&self) -> Vec<Requirement> {
        vec![Requirement::Capability("resources".to_owned())]
    }

    fn serves_all_clients(&self) -> bool {
        true
    }

    fn install(self, mut server: ServerBuilder<S>) -> ServerBuilder<S> {
        let page_size = self.page_size.unwrap_or(PAGE);
        let live = self.live.clone();
        live.set(Arc::new(ServedSkills::of(self)));
        server = server.resources(live.served().resources());
        let [list, get, read] = [0; 3].map(|_| live.clone());
        server = server
            .method(
                "skills/list",
                move |Args(params): Args<ListParams>, cx: Ctx| {
                    let (page, next) = page(
                        &list.served().entries,
                        |entry| &entry.uri,
                        params.cursor,
                        page_size,
                    )?;
                    Ok::<_, ErrorObject>(Json(cacheable(&cx, json!({ "skills": page }), next)))
                },
            )
            .method(
                "skills/get",
                move |Args(params): Args<GetParams>, cx: Ctx| {
                    let entries = &get.served().entries;
                    let found = entries.binary_search_by(|entry| entry.uri.cmp(&params.uri));
                    match found.ok().and_then(|at| entries.get(at)) {
                        Some(skill) => Ok(Json(cacheable(&cx, json!({ "skill": skill }), None))),
                        None => Err(unknown("skill", &params.uri)),
                    }
                },
            )
            .method(
                "resources/directory/read",
                move |Args(params): Args<GetParams>, cx: Ctx| {
                    let uri = params.uri.trim_end_matches('/');
                    let served = read.served();
                    let children = served
                        .directories
                        .children(uri)
                        .ok_or_else(|| unknown("directory", uri))?;
                    let (page, next) =
                        page(children, |child| &child.uri, params.cursor, page_size)?;
                    Ok::<_, ErrorObject>(Json(cacheable(&cx, json!({ "resources": page }), next)))
                },
            );
        server
    }
}

/// Adds the members that list results have since 2026-07-28, and the cursor of the next page, to a result.
fn cacheable(cx: &Ctx, mut result: Value, next: Option<String>) -> Value {
    if cx.revision().is_stateless() {
        result["ttlMs"] = json!(0);
        result["cacheScope"] = json!("private");
    }
    if let Some(next) = next {
        result["nextCursor"] = Value::String(next);
    }
    result
}

/// Returns the items after the item that the cursor names, and the cursor of the next page. Items are sorted by URI.
fn page<T: Clone>(
    all: &[T],
    uri: impl Fn(&T) -> &String,
    cursor: Option<String>,
    size: usize,
) -> Result<(Vec<T>, Option<String>), ErrorObject> {
    let start = match cursor {
        None => 0,
        Some(cursor) => match all.binary_search_by(|item| uri(item).cmp(&cursor)) {
            Ok(at) => at + 1,
            Err(_) => {
                return Err(ErrorObject::invalid_params(
                    "the cursor is not from this list; use the nextCursor of the previous page",
                ));
            }
        },
    };
    let page: Vec<T> = all.iter().skip(start).take(size).cloned().collect();
    let is_last = start + page.len() >= all.len();
    let next = page
        .last()
        .filter(|_| !is_last)
        .map(|last| uri(last).clone());
    Ok((page, next))
}

fn unknown(what: &str, uri: &str) -> ErrorObject {
    let uri: String = uri.chars().take(200).collect();
    ErrorObject::invalid_params(format!("there is no {what} {uri:?}"))
}
