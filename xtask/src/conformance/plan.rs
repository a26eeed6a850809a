//! What is run: which line of the suite, which role, which selection of scenarios.

/// The dated revisions for which a line of the suite has scenarios. The suite knows none for 2024-11-05.
pub(super) const REVISIONS: &[&str] = &["2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// Who is tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    Server,
    Client,
}

impl Role {
    pub(super) const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// The word on the command line, ours and the suite's.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }

    /// Our fixture.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Server => "everything-server",
            Self::Client => "conformance-client",
        }
    }
}

/// A published line of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReleaseLine {
    /// What `latest` points at.
    Stable,
    /// The newest one: requirement sets, and the schema of every message is checked.
    Next,
}

impl ReleaseLine {
    pub(super) const ALL: [Self; 2] = [Self::Stable, Self::Next];

    /// Under which name `tests/conformance/package.json` installs it.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Stable => "conformance-0.1",
            Self::Next => "conformance-0.2",
        }
    }

    /// How tables call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stable => "0.1",
            Self::Next => "0.2",
        }
    }
}

/// Which scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection {
    /// What the suite requires of the revision, frozen at its release.
    Required,
    /// A suite by name, all of it.
    Suite(&'static str),
    /// Those of a suite that apply to the revision.
    SuiteAt(&'static str),
    /// One scenario.
    Alone,
}

/// One start of the suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) role: Role,
    pub(super) line: ReleaseLine,
    pub(super) revision: &'static str,
    pub(super) selection: Selection,
}

impl Run {
    /// A short name, one for each run of a role.
    pub(super) fn title(&self) -> String {
        let line = self.line.name();
        match self.selection {
            Selection::Required => format!("{line} required {}", self.revision),
            Selection::Suite(suite) => format!("{line} {suite}"),
            Selection::SuiteAt(suite) => format!("{line} {suite} {}", self.revision),
            Selection::Alone => format!("{line} alone {}", self.revision),
        }
    }
}

/// The runs of a role, for one revision or for all of them, from the oldest to the newest.
pub(super) fn runs(role: Role, revision: Option<&str>) -> impl Iterator<Item = Run> {
    let of = |line, revision, selection| Run {
        role,
        line,
        revision,
        selection,
    };
    // Without a revision the stable line speaks the newest one it knows.
    let mut runs = vec![of(
        ReleaseLine::Stable,
        "2025-11-25",
        Selection::Suite("all"),
    )];
    for &revision in REVISIONS {
        let suite = match (role, revision) {
            (Role::Client, "2025-03-26") => "backcompat",
            _ => "all",
        };
        runs.push(of(ReleaseLine::Next, revision, Selection::SuiteAt(suite)));
    }
    for revision in ["2025-11-25", "2026-07-28"] {
        runs.push(of(ReleaseLine::Next, revision, Selection::Required));
    }
    runs.into_iter()
        .filter(move |run| revision.is_none_or(|revision| revision == run.revision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_revision_has_a_run_in_both_roles_and_every_run_a_name() {
        for role in Role::ALL {
            for revision in REVISIONS {
                assert!(runs(role, Some(revision)).count() > 0, "{revision}");
            }
            let mut titles: Vec<String> = runs(role, None).map(|run| run.title()).collect();
            let all = titles.len();
            titles.sort();
            titles.dedup();
            assert_eq!(titles.len(), all, "{titles:?}");
        }
    }
}
