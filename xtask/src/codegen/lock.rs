//! Where the schema files come from: a folder, or the pinned official address, always with the pinned SHA-256.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use sha2::{Digest, Sha256};

const FILE: &str = "xtask/schema.lock";

/// The pins of every revision.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    schema: Vec<LockEntry>,
}

/// One schema file, at one commit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LockEntry {
    revision: String,
    url: String,
    sha256: String,
}

impl Lock {
    /// Reads `xtask/schema.lock`.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let text =
            fs::read_to_string(root.join(FILE)).map_err(|error| format!("{FILE}: {error}"))?;
        toml::from_str(&text).map_err(|error| format!("{FILE}: {error}"))
    }

    /// The verified text of one revision's schema.
    pub(crate) fn read(
        &self,
        root: &Path,
        dir: Option<&Path>,
        revision: &str,
    ) -> Result<String, String> {
        let pin = self.schema.iter().find(|pin| pin.revision == revision);
        let pin = pin.ok_or_else(|| format!("{FILE} does not pin {revision}"))?;
        let cache = root.join("target/schema");
        let file = dir.unwrap_or(&cache).join(revision).join("schema.json");
        let bytes = match fs::read(&file) {
            Ok(bytes) => bytes,
            Err(error) if dir.is_some() => return Err(format!("{}: {error}", file.display())),
            Err(_) => download(pin, &file)?,
        };
        let found = hex(&Sha256::digest(&bytes));
        if found != pin.sha256 {
            let name = file.display();
            return Err(format!(
                "{name} has SHA-256 {found}, but {FILE} pins {} for {revision}",
                pin.sha256
            ));
        }
        String::from_utf8(bytes).map_err(|error| format!("{}: {error}", file.display()))
    }
}

fn download(pin: &LockEntry, file: &PathBuf) -> Result<Vec<u8>, String> {
    let output = Command::new("curl").args(["-fsSL", &pin.url]).output();
    let output = output.map_err(|error| format!("curl could not be started: {error}"))?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{} could not be downloaded: {}",
            pin.url,
            reason.trim()
        ));
    }
    if hex(&Sha256::digest(&output.stdout)) == pin.sha256 {
        let folder = file.parent().unwrap_or(Path::new("."));
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, &output.stdout));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
    }
    Ok(output.stdout)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn lock(sha256: &str) -> Lock {
        let pin = LockEntry {
            revision: "r".to_owned(),
            url: "https://example.test".to_owned(),
            sha256: sha256.to_owned(),
        };
        Lock { schema: vec![pin] }
    }

    #[test]
    fn a_schema_that_is_not_the_pinned_one_is_refused() {
        let dir = std::env::temp_dir().join(format!("xtask-lock-{}", std::process::id()));
        fs::create_dir_all(dir.join("r")).unwrap();
        fs::write(dir.join("r/schema.json"), "").unwrap();
        let read = |lock: &Lock, revision| lock.read(Path::new("."), Some(&dir), revision);
        assert_eq!(read(&lock(EMPTY), "r").unwrap(), "");
        assert!(
            read(&lock("00"), "r")
                .unwrap_err()
                .contains("but xtask/schema.lock pins 00 for r")
        );
        assert_eq!(
            read(&lock(EMPTY), "s").unwrap_err(),
            "xtask/schema.lock does not pin s"
        );
        fs::remove_dir_all(dir).unwrap();
    }
}
