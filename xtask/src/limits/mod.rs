//! `cargo xtask limits`: the settings with a default number, from the sources.
//!
//! A setting is a public field or a setter whose documentation names its default. The default in the documentation must be the value
//! of the constructor. The result is `docs/reference/limits.md`.

mod quantity;
mod settings;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::page::render;
use crate::workspace::{self, File, Files, Result, none_of, root, say};
use settings::{Crate, Setting};

const PAGE: &str = "docs/reference/limits.md";
const FIXED_PAGE: &str = "docs/reference/fixed-limits.md";
const MEMBERS: &str = "xtask/src/limits/members.toml";

/// Runs the command: writes the page, or compares it.
pub(crate) fn run(check: bool) -> Result {
    let is_source = |path: &str| {
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        path.contains("/src/") && path.ends_with(".rs") && !is_test && !path.contains("/generated/")
    };
    let sources = workspace::read(root(), &["crates"], is_source)?;
    let crates = crates(&sources)?;
    let members = workspace::load(root(), MEMBERS)?;
    let page = page(&crates, &members.text)?;
    let fixed = fixed_page(&sources)?;
    let pages = [(PAGE, page), (FIXED_PAGE, fixed)];
    let page = Files::from(pages.map(|(path, text)| (path.to_owned(), text)));
    let is_page = |path: &str| [PAGE, FIXED_PAGE].contains(&path);
    let present = workspace::read(root(), &["docs"], is_page)?;
    let problem = "out of date, run `cargo xtask limits` and commit it:";
    workspace::apply(root(), &page, present, check, problem)?;
    let count: usize = crates.values().map(|(settings, _)| settings.len()).sum();
    say(&format!("{count} settings with a default"));
    Ok(())
}

/// The page of the limits that are constants.
fn fixed_page(sources: &[File]) -> Result<String> {
    let mut crates = BTreeMap::new();
    for (name, files) in by_crate(sources) {
        let limits = Crate::parse(files.into_iter())?.fixed_limits();
        if !limits.is_empty() {
            crates.insert(name, limits);
        }
    }
    render(
        include_str!("fixed.md.jinja"),
        minijinja::context! { crates },
    )
}

fn by_crate(sources: &[File]) -> BTreeMap<String, Vec<&File>> {
    let mut files: BTreeMap<String, Vec<&File>> = BTreeMap::new();
    for file in sources {
        let name = file.path.split('/').nth(1).unwrap_or_default();
        files.entry(name.to_owned()).or_default().push(file);
    }
    files
}

/// The settings of each crate, and what is wrong with their documentation.
type Crates = BTreeMap<String, (Vec<Setting>, Vec<String>)>;

fn crates(sources: &[File]) -> Result<Crates> {
    let all = Crate::parse(sources.iter())?;
    let mut found = Crates::new();
    for (name, files) in by_crate(sources) {
        let parsed = Crate::parse(files.into_iter())?;
        found.insert(name, parsed.settings(&all));
    }
    Ok(found)
}

/// A member of a configuration file, and the setting that has its default.
#[derive(Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct FileMember {
    file: String,
    member: String,
    setting: String,
}

fn page(crates: &Crates, members: &str) -> Result<String> {
    let faults = crates.values().flat_map(|(_, faults)| faults);
    let mut faults: Vec<String> = faults.cloned().collect();
    let mut members: Vec<FileMember> = workspace::tables(MEMBERS, members)?;
    let settings = || crates.values().flat_map(|(settings, _)| settings);
    for FileMember { setting, .. } in &members {
        if !settings().any(|known| known.name == *setting) {
            faults.push(format!("{MEMBERS}: there is no setting {setting}"));
        }
    }
    none_of(&faults)?;
    let default_of = |name: &str| {
        let setting = settings().find(|setting| setting.name == name);
        setting.map(|setting| setting.default.clone())
    };
    members.sort_by(|a, b| (&a.file, &a.member).cmp(&(&b.file, &b.member)));
    let members: Vec<_> = members
        .iter()
        .map(|member| (member, default_of(&member.setting)))
        .collect();
    let crates = crates
        .iter()
        .filter(|(_, (settings, _))| !settings.is_empty());
    let crates: Vec<_> = crates
        .map(|(name, (settings, _))| (name, settings))
        .collect();
    let values = minijinja::context! { crates, members };
    render(include_str!("page.md.jinja"), values)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r#"
        pub struct Limits {
            /// Maximum size of a [`Body`](crate::Body). Default 4 MiB. A larger body is rejected with 413.
            pub max_body: usize,
            /// No number.
            pub other: usize,
        }
        impl Default for Limits {
            fn default() -> Self { Self { max_body: 4 << 20, other: 1 } }
        }
        const TIME: Duration = Duration::from_secs(2 * 60);
        /// Maximum size of a frame, in bytes.
        const MAX_FRAME: usize = 2 << 10;
        impl Builder {
            pub fn new() -> Self { Self { time: Some(TIME) } }
            /// Sets the maximum time. Default: 2 min.
            pub fn time(mut self, time: Duration) -> Self { self.inner.time = time; self }
        }
    "#;

    #[test]
    fn a_page_has_each_setting_with_its_default() {
        let sources = [File::new("crates/mcp-a/src/lib.rs", SOURCE)];
        let found = crates(&sources).unwrap();
        let members =
            "[[member]]\nfile = \"g.json\"\nmember = \"time\"\nsetting = \"Builder::time\"\n";
        let page = page(&found, members).unwrap();
        for row in [
            "| `Limits::max_body` | 4 MiB | Maximum size of a `Body`. A larger body is rejected with 413. |",
            "| `Builder::time` | 2 min | Sets the maximum time. |",
            "| g.json | `time` | `Builder::time` | 2 min |",
        ] {
            assert!(page.contains(row), "{row}\n{page}");
        }
    }

    #[test]
    fn a_page_has_the_limits_that_are_constants() {
        let sources = [File::new("crates/mcp-a/src/lib.rs", SOURCE)];
        let page = fixed_page(&sources).unwrap();
        let row = "| `lib.rs` | Maximum size of a frame, in bytes. | 2 KiB |";
        assert!(page.contains(row), "{page}");
    }

    #[test]
    fn a_default_that_the_code_does_not_have_is_reported() {
        let source = SOURCE.replace("4 << 20", "5 << 20");
        let found = crates(&[File::new("crates/mcp-a/src/lib.rs", &source)]).unwrap();
        let error = page(&found, "").unwrap_err();
        assert!(
            error.contains("Limits::max_body: the documentation says 4 MiB"),
            "{error}"
        );
        let found = crates(&[File::new("crates/mcp-a/src/lib.rs", SOURCE)]).unwrap();
        let members = "[[member]]\nfile = \"\"\nmember = \"\"\nsetting = \"Gone::gone\"\n";
        assert!(
            page(&found, members)
                .unwrap_err()
                .contains("no setting Gone::gone")
        );
    }
}
