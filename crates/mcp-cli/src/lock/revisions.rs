//! Reads and compares the definitions that a server sends to hosts which request other revisions.
//!
//! A server knows the revision that a host requests, so it can send different definitions to some hosts.

use std::collections::{BTreeMap, BTreeSet};

use mcp_client::Revision;
use serde::{Deserialize, Serialize};

use super::compare::{Class, Difference, compare};
use super::snapshot::{LockConnection, Snapshot};
use crate::args::{ListKind, Options, RevisionChoice};
use crate::failure::Failure;
use crate::target::Target;

/// The definitions that a server sends to hosts which request one of these revisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OtherRevisions {
    /// The requested revisions, each with the revision that the server chose.
    revisions: BTreeMap<String, String>,
    /// The definitions; `None` if they are the same as on the negotiated revision. Otherwise, a list or `outside` is absent if it
    /// is the same as on the negotiated revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) offer: Option<Snapshot>,
}

/// Connects once with each revision except the negotiated one, and reads the definitions. Leaves out revisions that the server
/// does not accept.
pub(super) async fn read(
    target: &Target,
    negotiated: &Snapshot,
    kinds: &[ListKind],
    options: &Options,
) -> Result<Vec<OtherRevisions>, Failure> {
    let revision = negotiated.revision.parse::<Revision>();
    // If the server knows the stateless revision, this revision was negotiated.
    let stateless = revision.ok().filter(|revision| revision.is_stateless());
    let own = stateless.unwrap_or(Revision::LATEST_WITH_SESSIONS);
    let is_other =
        |other: &Revision| *other != own && (stateless.is_some() || !other.is_stateless());
    let mut all = Vec::new();
    for requested in Revision::ALL.into_iter().filter(is_other) {
        let mut options = options.clone();
        options.revision = RevisionChoice::Exactly(requested);
        let Ok(recorded) = LockConnection::open(target, &options).await else {
            continue;
        };
        let known = negotiated.volatile_defaults.clone();
        let offer = recorded.snapshot(kinds, known, &[]).await;
        let offer = offer.map_err(|failure| failure.about(&format!("revision {requested}")))?;
        add(&mut all, negotiated, requested.to_string(), offer);
    }
    Ok(all)
}

/// Reads the definitions for other revisions from the snapshot `from`, and expresses them as differences from the snapshot `to`.
/// Returns `None` if `from` does not record other revisions.
pub(super) fn moved(from: &Snapshot, to: &Snapshot) -> Option<Vec<OtherRevisions>> {
    from.others.as_ref()?;
    let mut all = Vec::new();
    for (requested, offer) in offers(from) {
        add(&mut all, to, requested, offer);
    }
    Some(all)
}

/// Adds the definitions for hosts that request a revision. Revisions with the same definitions share an entry.
fn add(all: &mut Vec<OtherRevisions>, negotiated: &Snapshot, requested: String, offer: Snapshot) {
    let answered = offer.revision.clone();
    let offer = difference(offer, negotiated);
    let revisions = BTreeMap::from([(requested, answered)]);
    match all.iter_mut().find(|one| one.offer == offer) {
        Some(same) => same.revisions.extend(revisions),
        None => all.push(OtherRevisions { revisions, offer }),
    }
}

/// Removes from a snapshot everything that is the same on the negotiated revision. Returns `None` if nothing is left.
fn difference(mut offer: Snapshot, negotiated: &Snapshot) -> Option<Snapshot> {
    offer.revision.clear();
    let same = Snapshot {
        revision: String::new(),
        others: None,
        ..negotiated.clone()
    };
    if offer == same {
        return None;
    }
    for (kind, _, items) in same.kinds() {
        let (_, slot) = offer.slot(kind);
        if slot.as_ref() == items {
            *slot = None;
        }
    }
    if offer.outside == same.outside {
        offer.outside = None;
    }
    Some(offer)
}

/// Returns a complete snapshot for each requested revision except the negotiated one.
fn offers(snapshot: &Snapshot) -> BTreeMap<String, Snapshot> {
    let mut all = BTreeMap::new();
    for OtherRevisions { revisions, offer } in snapshot.others.iter().flatten() {
        let mut whole = offer.as_ref().unwrap_or(snapshot).clone();
        whole.others = None;
        for (kind, _, items) in snapshot.kinds() {
            let (_, slot) = whole.slot(kind);
            *slot = slot.take().or_else(|| items.cloned());
        }
        whole.outside = whole.outside.or_else(|| snapshot.outside.clone());
        for (requested, answered) in revisions {
            whole.revision.clone_from(answered);
            all.insert(requested.clone(), whole.clone());
        }
    }
    all
}

/// Returns the changes on other revisions, without the changes in `known`, which are the changes on the negotiated revision.
pub(super) fn changes(old: &Snapshot, new: &Snapshot, known: &[Difference]) -> Vec<Difference> {
    let change = |class, item: String, text: &str| {
        let text = text.to_owned();
        Difference { class, item, text }
    };
    let (before, after) = (offers(old), offers(new));
    if old.others.is_none() && !after.is_empty() {
        let text = "not locked yet; review the definitions";
        return vec![change(Class::Risky, "other revisions".to_owned(), text)];
    }
    let mut all = Vec::new();
    let mut changed: BTreeMap<_, Vec<&str>> = BTreeMap::new();
    let requested: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    for requested in requested {
        let item = || format!("revision {requested}");
        match (before.get(requested), after.get(requested)) {
            (Some(old), Some(new)) => {
                for one in compare(old, new)
                    .into_iter()
                    .filter(|one| !known.contains(one))
                {
                    let one = (one.class, one.item, one.text);
                    changed.entry(one).or_default().push(requested);
                }
            }
            (Some(_), None) => all.push(change(Class::Breaking, item(), "removed")),
            (None, _) => {
                let text = "added; review the definitions";
                all.push(change(Class::Risky, item(), text));
            }
        }
    }
    for ((class, item, text), requested) in changed {
        let item = format!("{item} ({})", requested.join(", "));
        all.push(Difference { class, item, text });
    }
    all
}
