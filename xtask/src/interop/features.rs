//! The features that a peer has to show, and how each turned out.

use serde::{Deserialize, Serialize};

use super::peers::{FILE, Peer};

/// The feature whose outcome is a revision instead of "yes".
const AUTO: &str = "auto";

/// A row of the tables, for one peer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Feature {
    /// The name that drivers use.
    pub(super) name: String,
    /// The words of the page.
    pub(super) title: String,
    /// Why the peer may lack the feature.
    pub(super) absent: Option<String>,
    /// `None` is not reported.
    pub(super) outcome: Option<Outcome>,
}

/// The outcome of one feature.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// The text of the page.
    Works(String),
    /// The peer does not have the feature, for this reason.
    Absent(String),
    /// How the feature failed.
    Fails(String),
}

/// A line of a driver.
#[derive(Debug, Deserialize)]
struct Report {
    feature: String,
    outcome: String,
    detail: String,
}

impl Feature {
    /// Judges a report. A feature that has failed once stays failed.
    fn record(&mut self, outcome: &str, detail: &str) {
        let outcome = match (outcome, &self.absent) {
            ("ok", None) if self.name == AUTO => match revision(detail) {
                Some(revision) => Outcome::Works(revision.to_owned()),
                None => Outcome::Fails(format!(
                    "the detail does not begin with a revision: {detail}"
                )),
            },
            ("ok", None) => Outcome::Works("yes".to_owned()),
            ("absent", Some(reason)) => Outcome::Absent(reason.clone()),
            ("ok", Some(_)) => Outcome::Fails(format!("is listed as absent, but works: {detail}")),
            ("absent", None) => {
                Outcome::Fails(format!("is missing without a reason in {FILE}: {detail}"))
            }
            _ => Outcome::Fails(detail.to_owned()),
        };
        if !matches!(self.outcome, Some(Outcome::Fails(_))) {
            self.outcome = Some(outcome);
        }
    }
}

impl Peer {
    /// Records one line of the driver and returns the line for the terminal.
    pub(super) fn record(&mut self, line: &str) -> String {
        let peer = &self.name;
        let Ok(report) = serde_json::from_str::<Report>(line) else {
            return format!("{peer:24} {line}");
        };
        let Report {
            feature: name,
            outcome,
            detail,
        } = &report;
        let short: String = detail.replace('\n', " ").chars().take(90).collect();
        let shown = format!("{peer:24} {name:22} {outcome:7} {short}");
        match self.features.iter_mut().find(|known| known.name == *name) {
            Some(feature) => feature.record(outcome, detail),
            None => self
                .faults
                .push(format!("reports {name}, which is not a row")),
        }
        shown
    }

    /// All failures, one line each.
    pub(super) fn failures(&self) -> Vec<String> {
        let failed = self.features.iter().filter_map(|feature| {
            let detail = match &feature.outcome {
                Some(Outcome::Fails(detail)) => detail,
                None => "nothing was reported",
                _ => return None,
            };
            Some(format!("{}: {detail}", feature.name))
        });
        let all = self.faults.iter().cloned().chain(failed);
        all.map(|failure| format!("{}: {failure}", self.name))
            .collect()
    }
}

/// The revision that a detail begins with.
fn revision(detail: &str) -> Option<&str> {
    let word = detail.split([' ', ',']).next()?;
    let is_date = word.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    (word.len() == 10 && is_date).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interop::{page, peers::all};
    use crate::workspace::root;

    fn peer(name: &str) -> Peer {
        let mut peers = all(root()).unwrap().into_iter();
        peers.find(|peer| peer.name == name).unwrap()
    }

    fn line(feature: &str, outcome: &str, detail: &str) -> String {
        format!(r#"{{"feature":"{feature}","outcome":"{outcome}","detail":"{detail}"}}"#)
    }

    /// The outcome of a feature of a peer after these reports.
    fn outcome(name: &str, feature: &str, reports: &[(&str, &str)]) -> Option<Outcome> {
        let mut peer = peer(name);
        for (outcome, detail) in reports {
            peer.record(&line(feature, outcome, detail));
        }
        let mut features = peer.features.into_iter();
        features.find(|known| known.name == feature)?.outcome
    }

    #[test]
    fn a_feature_works_only_if_its_driver_reports_it_and_it_is_not_listed_as_absent() {
        let works = |text: &str| Some(Outcome::Works(text.to_owned()));
        let ok = |detail| outcome("python-server", "auto", &[("ok", detail)]);
        assert_eq!(outcome("everything", "ping", &[]), None);
        assert_eq!(outcome("everything", "ping", &[("ok", "")]), works("yes"));
        assert_eq!(ok("2026-07-28"), works("2026-07-28"));
        assert_eq!(ok("2026-07-28, after -32601"), works("2026-07-28"));
        for (name, feature, reports) in [
            ("everything", "ping", &[("failed", "")][..]),
            ("everything", "ping", &[("fine", "")]),
            ("everything", "ping", &[("absent", "")]),
            ("memory", "prompts", &[("ok", "")]),
            ("everything", "ping", &[("failed", ""), ("ok", "")]),
            ("python-server", "auto", &[("ok", "")]),
            ("python-server", "auto", &[("ok", "yes")]),
            ("python-server", "auto", &[("ok", "2026-07-2")]),
            ("python-server", "auto", &[("ok", "2026-07-285")]),
            ("python-server", "auto", &[("ok", "a026-07-28")]),
        ] {
            let outcome = outcome(name, feature, reports);
            assert!(
                matches!(outcome, Some(Outcome::Fails(_))),
                "{feature} {reports:?}"
            );
        }
    }

    #[test]
    fn the_page_has_the_outcome_of_every_feature() {
        let mut peer = peer("memory");
        peer.record(&line("prompts", "absent", ""));
        peer.record(&line("logging", "absent", ""));
        peer.record(&line("ping", "ok", ""));
        let page = page(&[peer]).unwrap();
        for line in [
            "\n| Feature | memory |\n| --- | --- |\n",
            "\n| Every prompt fetched | n/a [^1] |\n",
            "\n| Log level and messages | n/a [^1] |\n",
            " | yes |\n",
            " | FAILED |\n",
            "\n\n[^1]: The server does not declare prompts",
        ] {
            assert!(page.contains(line), "{line} not in {page}");
        }
    }

    #[test]
    fn missing_and_unknown_reports_and_faults_are_failures() {
        let mut peer = peer("memory");
        assert_eq!(peer.failures().len(), peer.features.len());
        for feature in peer.features.clone() {
            let outcome = if feature.absent.is_some() {
                "absent"
            } else {
                "ok"
            };
            peer.record(&line(&feature.name, outcome, "2026-07-28"));
        }
        assert_eq!(peer.failures(), [""; 0]);
        peer.record(&line("teleport", "ok", ""));
        let failures = peer.failures();
        assert_eq!(failures, ["memory: reports teleport, which is not a row"]);
    }
}
