//! The snapshot of one server: a part of the lock file.

use std::collections::BTreeSet;

use mcp_client::types::method;
use mcp_client::{Client, ClientBuilder};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::definition::{Definition, Definitions};
use super::handshake::{self, Handshake};
use super::list::{List, check_deviations, list};
use super::revisions::OtherRevisions;
use crate::args::{ListKind, Options};
use crate::connect::Connection;
use crate::failure::Failure;
use crate::target::Target;

/// The key in [`Snapshot::outside`] for the server's description of itself.
const SERVER: &str = "server";

/// The definitions of one server at the time when they were read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Snapshot {
    pub(super) name: String,
    pub(super) version: String,
    /// The negotiated revision; empty in [`OtherRevisions`].
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) revision: String,
    pub(super) extensions: Vec<String>,
    pub(super) instructions: Option<String>,
    /// The arguments whose defaults were removed from the definitions, as `TOOL:ARGUMENT`.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub(super) volatile_defaults: BTreeSet<String>,
    /// The tools; `None` if tools are not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tools: Option<Definitions>,
    /// The prompts; `None` if prompts are not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) prompts: Option<Definitions>,
    /// The resources; `None` if resources are not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resources: Option<Definitions>,
    /// The resource templates; `None` if templates are not locked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) templates: Option<Definitions>,
    /// The members that the server sends outside of items. The key [`SERVER`] has the server's description of itself. The method
    /// of a list is the key for the members of the list's results. `None` if an earlier version of this program wrote the entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) outside: Option<Definitions>,
    /// The definitions that the server sends to hosts which request other revisions. `None` if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) others: Option<Vec<OtherRevisions>>,
    /// A member that only format 2 has. It contained only one other revision: the newest session-based revision.
    #[serde(default, skip_serializing)]
    pub(super) sessions: Option<IgnoredAny>,
}

/// A connection that stores the result of its handshake.
pub(super) struct LockConnection {
    connection: Connection,
    handshake: Handshake,
}

impl LockConnection {
    pub(super) async fn open(target: &Target, options: &Options) -> Result<Self, Failure> {
        let handshake = Handshake::default();
        // A server can show other definitions to hosts that declare these capabilities, as most hosts do.
        let record = |builder| {
            let builder: ClientBuilder = handshake.record(builder);
            let builder = builder.on_sample(async |sample| Err(sample.rejected_by_user()));
            match options.root.is_empty() {
                true => builder.roots([]),
                false => builder,
            }
        };
        let connection = Connection::open_with(target, options, record).await?;
        Ok(Self {
            connection,
            handshake,
        })
    }

    /// Reads the definitions into a snapshot, and closes the connection.
    pub(super) async fn snapshot(
        self,
        kinds: &[ListKind],
        known: BTreeSet<String>,
        new: &[String],
    ) -> Result<Snapshot, Failure> {
        let client = &self.connection.client;
        let snapshot = Snapshot::of(client, &self.handshake, kinds, known, new).await?;
        self.connection.close().await;
        Ok(snapshot)
    }
}

impl Snapshot {
    async fn of(
        client: &Client,
        handshake: &Handshake,
        kinds: &[ListKind],
        known: BTreeSet<String>,
        new: &[String],
    ) -> Result<Self, Failure> {
        check_deviations(client)?;
        let server = handshake.checked()?;
        let extensions = client.capabilities().extensions.iter().flatten();
        let info = client.server_info();
        let mut snapshot = Self {
            name: info.name.clone(),
            version: info.version.clone(),
            revision: client.revision().to_string(),
            extensions: extensions.map(|(id, _)| id.clone()).collect(),
            instructions: client.instructions().map(str::to_owned),
            ..Self::default()
        };
        let mut outside = Definitions::new();
        for kind in kinds {
            let List {
                items,
                outside: rest,
            } = list(client, *kind, &server).await?;
            let (method, slot) = snapshot.slot(*kind);
            *slot = Some(items);
            outside.insert(method.to_owned(), rest);
        }
        check_deviations(client)?;
        outside.insert(SERVER.to_owned(), handshake::definition(server));
        snapshot.outside = Some(outside);
        snapshot.remove_defaults(known, new)?;
        Ok(snapshot)
    }

    /// Returns the method of a list, and the field for its items.
    pub(super) fn slot(&mut self, kind: ListKind) -> (&'static str, &mut Option<Definitions>) {
        match kind {
            ListKind::Tools => (method::TOOLS_LIST, &mut self.tools),
            ListKind::Prompts => (method::PROMPTS_LIST, &mut self.prompts),
            ListKind::Resources => (method::RESOURCES_LIST, &mut self.resources),
            ListKind::Templates => (method::RESOURCES_TEMPLATES_LIST, &mut self.templates),
        }
    }

    /// Removes the defaults that may change with each request.
    fn remove_defaults(&mut self, known: BTreeSet<String>, new: &[String]) -> Result<(), Failure> {
        for name in &known {
            remove_default(self.tools.as_mut(), name);
        }
        for name in new.iter().filter(|name| !known.contains(*name)) {
            if !remove_default(self.tools.as_mut(), name) {
                return Err(Failure::usage(format!(
                    "--volatile-default {name:?}: no tool of the server has this argument with a default; write TOOL:ARGUMENT"
                )));
            }
        }
        self.volatile_defaults = known.into_iter().chain(new.iter().cloned()).collect();
        Ok(())
    }

    /// Returns the arguments whose defaults differ from the defaults in another snapshot, as `TOOL:ARGUMENT`.
    pub(super) fn changed_defaults(&self, other: &Self) -> Vec<String> {
        let (Some(tools), Some(others)) = (&self.tools, &other.tools) else {
            return Vec::new();
        };
        let mut changed = Vec::new();
        for (tool, now) in others {
            let was = tools.get(tool).filter(|was| *was != now);
            let arguments = |one: &Definition| {
                let arguments = one.definition["inputSchema"]["properties"].as_object();
                arguments.cloned().unwrap_or_default()
            };
            let (was, now) = (was.map(arguments).unwrap_or_default(), arguments(now));
            let defaults = was.iter().filter_map(|(name, was)| {
                let (was, now) = (was.get("default")?, now.get(name)?.get("default")?);
                (was != now).then(|| format!("{tool}:{name}"))
            });
            changed.extend(defaults);
        }
        changed
    }

    /// Returns the snapshot, and the snapshots of other revisions whose definitions differ.
    pub(super) fn with_others(&self) -> impl Iterator<Item = &Self> {
        let others = self.others.iter().flatten();
        std::iter::once(self).chain(others.filter_map(|other| other.offer.as_ref()))
    }

    pub(super) fn kinds(&self) -> [(ListKind, &'static str, Option<&Definitions>); 4] {
        [
            (ListKind::Tools, "tool", self.tools.as_ref()),
            (ListKind::Prompts, "prompt", self.prompts.as_ref()),
            (ListKind::Resources, "resource", self.resources.as_ref()),
            (ListKind::Templates, "template", self.templates.as_ref()),
        ]
    }
}

/// Removes the default of the argument `TOOL:ARGUMENT` from the definition of the tool. Returns whether the argument had a
/// default.
fn remove_default(tools: Option<&mut Definitions>, name: &str) -> bool {
    let Some((tool, argument)) = name.rsplit_once(':') else {
        return false;
    };
    let Some(known) = tools.and_then(|tools| tools.get_mut(tool)) else {
        return false;
    };
    let mut definition = known.definition.clone();
    let schema = definition.get_mut("inputSchema");
    let arguments = schema.and_then(|schema| schema.get_mut("properties"));
    let argument = arguments.and_then(|arguments| arguments.get_mut(argument));
    let members = argument.and_then(Value::as_object_mut);
    let has_default = members.is_some_and(|members| members.shift_remove("default").is_some());
    if has_default {
        *known = Definition::new(definition);
    }
    has_default
}
