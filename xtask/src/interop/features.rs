//! The features that a peer has to show, and how each turned out.

use serde::{Deserialize, Serialize};

use super::peers::{Absent, FILE, Peer};

/// The feature whose outcome is a revision instead of "yes".
const AUTO: &str = "auto";

/// A row of the tables, for one peer.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Feature {
    /// The name that drivers use.
    pub(super) name: String,
    /// The words of the page.
    pub(super) title: String,
    /// Why the peer may lack the feature.
    pub(super) absent: Option<Absent>,
    /// `None` is not reported.
    pub(super) outcome: Option<Outcome>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Outcome {
    /// The text of the page.
    Works(String),
    /// The peer does not have the feature, for this reason.
    Absent(String),
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
        if matches!(self.outcome, Some(Outcome::Fails(_))) {
            return;
        }
        let fails = |why: &str| Outcome::Fails(format!("{why}{detail}"));
        let shows = |says: &str| !says.is_empty() && detail.contains(says);
        self.outcome = Some(match (outcome, &self.absent) {
            ("ok", None) if self.name == AUTO => match revision(detail) {
                Some(revision) => Outcome::Works(revision.to_owned()),
                None => fails("the detail does not begin with a revision: "),
            },
            ("ok", None) => Outcome::Works("yes".to_owned()),
            ("absent", Some(Absent { reason, .. })) => Outcome::Absent(reason.clone()),
            ("failed", Some(Absent { reason, says, .. })) if shows(says) => {
                Outcome::Absent(reason.clone())
            }
            ("ok", Some(_)) => fails("is listed as absent, but works: "),
            ("absent", None) => fails(&format!("is missing without a reason in {FILE}: ")),
            _ => fails(""),
        });
    }
}

impl Peer {
    /// Records one line of the driver and returns the line for the terminal.
    pub(super) fn record(&mut self, line: &str) -> String {
        let peer = &self.name;
        let Ok(report) = serde_json::from_str::<Report>(line) else {
            return format!("{peer:24} {line}");
        };
        let (name, outcome, detail) = (&report.feature, &report.outcome, &report.detail);
        let short: String = detail.replace('\n', " ").chars().take(90).collect();
        let shown = format!("{peer:24} {name:22} {outcome:7} {short}");
        match self.features.iter_mut().find(|known| known.name == *name) {
            Some(feature) => feature.record(outcome, detail),
            None => {
                let fault = format!("reports {name}, which is not a row");
                self.faults.push(fault);
            }
        }
        shown
    }

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
    use crate::interop::{page, peers::chosen};

    fn line(feature: &str, outcome: &str, detail: &str) -> String {
        format!(r#"{{"feature":"{feature}","outcome":"{outcome}","detail":"{detail}"}}"#)
    }

    #[test]
    fn a_feature_works_only_if_its_driver_reports_it_and_it_is_not_listed_as_absent() {
        let reason = || Some("its reason");
        for (name, absent, reports, expected) in [
            ("ping", None, &[("ok", "")][..], "yes"),
            ("ping", None, &[("failed", "")], "FAILED"),
            ("ping", None, &[("fine", "")], "FAILED"),
            ("ping", None, &[("absent", "")], "FAILED"),
            ("ping", None, &[("failed", ""), ("ok", "")], "FAILED"),
            ("ping", reason(), &[("ok", "")], "FAILED"),
            ("ping", reason(), &[("absent", "")], "its reason"),
            ("ping", reason(), &[("failed", "")], "FAILED"),
            ("ping", reason(), &[("failed", "no ping")], "its reason"),
            ("auto", None, &[("ok", "2026-07-28")], "2026-07-28"),
            ("auto", None, &[("ok", "2026-07-28, or")], "2026-07-28"),
            ("auto", None, &[("ok", "")], "FAILED"),
            ("auto", None, &[("ok", "yes")], "FAILED"),
            ("auto", None, &[("ok", "2026-07-2")], "FAILED"),
            ("auto", None, &[("ok", "2026-07-285")], "FAILED"),
            ("auto", None, &[("ok", "a026-07-28")], "FAILED"),
        ] {
            let absent = absent.map(|reason| Absent {
                reason: reason.to_owned(),
                says: "no ping".to_owned(),
                ..Absent::default()
            });
            let name = name.to_owned();
            let mut feature = Feature {
                name,
                absent,
                ..Feature::default()
            };
            for (outcome, detail) in reports {
                feature.record(outcome, detail);
            }
            let found = match feature.outcome.unwrap() {
                Outcome::Works(text) | Outcome::Absent(text) => text,
                Outcome::Fails(_) => "FAILED".to_owned(),
            };
            assert_eq!(found, expected, "{reports:?}");
        }
    }

    #[test]
    fn every_feature_is_on_the_page_and_missing_or_unknown_reports_are_failures() {
        let mut peer = chosen(&["memory".to_owned()]).unwrap().remove(0);
        assert_eq!(peer.failures().len(), peer.features.len());
        peer.record(&line("prompts", "absent", ""));
        peer.record(&line("logging", "absent", ""));
        peer.record(&line("ping", "ok", ""));
        let page = page(&[peer.clone()]).unwrap();
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
        for feature in peer.features.clone() {
            let outcome = feature.absent.map_or("ok", |_| "absent");
            peer.record(&line(&feature.name, outcome, "2026-07-28"));
        }
        peer.record(&line("teleport", "ok", ""));
        let expected = ["memory: reports teleport, which is not a row"];
        assert_eq!(peer.failures(), expected);
    }
}
