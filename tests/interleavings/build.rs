//! Copies sources of mcp-protocol with the locks and atomics of loom.

use std::path::Path;
use std::{env, fs, io};

const SOURCES: [&str; 4] = [
    "exchange/incoming.rs",
    "exchange/outgoing.rs",
    "exchange/state.rs",
    "mux/outbox.rs",
];

fn main() -> io::Result<()> {
    let folder = Path::new("../../crates/mcp-protocol/src");
    let out = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    for source in SOURCES {
        let path = folder.join(source);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path)?;
        // Included files cannot have documentation of their module. Their tests run in mcp-protocol.
        let text: String = text
            .lines()
            .take_while(|line| *line != "#[cfg(test)]")
            .filter(|line| !line.starts_with("//!"))
            .flat_map(|line| [line, "\n"])
            .collect();
        let text = text
            .replace("use std::sync::atomic", "use loom::sync::atomic")
            .replace("use std::sync::{Arc, Mutex, Weak};", "use std::sync::{Arc, Weak};\nuse loom::sync::Mutex;")
            .replace("use std::sync::{Arc, Mutex};", "use std::sync::Arc;\nuse loom::sync::Mutex;")
            .replace("use std::sync::Mutex;", "use loom::sync::Mutex;")
            .replace("pub(super)", "pub(crate)")
            // It is called with constants only in mcp-protocol.
            .replace("const fn", "fn")
            // A mutex of loom has no default.
            .replace("Mutex::default()", "Mutex::new(Default::default())");
        let name = source.rsplit('/').next().unwrap_or(source);
        fs::write(Path::new(&out).join(name), text)?;
    }
    Ok(())
}
