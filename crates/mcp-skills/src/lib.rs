//! Agent Skills over the Model Context Protocol: the extension `io.modelcontextprotocol/skills`.
//!
//! A skill is a folder with a `SKILL.md`, which has instructions for a model, and more files that the instructions refer to. A
//! server lists its skills, each with a digest of every file. A client reads a file when the model needs it, and verifies it.
//!
//! ```
//! use mcp_server::Server;
//! use mcp_skills::{Skill, Skills};
//!
//! let review = Skill::from_files("review", [
//!     ("SKILL.md", "---\nname: review\ndescription: Reviews code\n---\nRead checklist.md first.\n"),
//!     ("checklist.md", "1. Are there tests?\n"),
//! ])?;
//! let server = Server::builder("skills", "1.0.0").with(Skills::new().skill(review)).build()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Skills::from_folder`] serves all skills of a folder. [`RemoteSkills`] is the client side.
//!
//! The guide `extensions.md` in the folder `docs/guide` of the repository explains more.
//!
//! Specification: [SEP-2640](https://modelcontextprotocol.io/seps/2640-skills-extension).

#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, reason = "each side uses a part of an entry")
)]
mod entry;
mod error;
#[cfg_attr(
    not(any(feature = "client", feature = "server")),
    allow(dead_code, reason = "each side reads skills")
)]
mod frontmatter;

#[cfg(feature = "client")]
mod client;
#[cfg(feature = "server")]
mod server;

#[cfg(feature = "client")]
pub use client::{Error, RejectedSkill, RemoteSkill, RemoteSkills, SkillList};
pub use entry::{FileEntry, Manifest, SkillEntry};
pub use error::{SkillError, SkillErrorKind};
#[doc(hidden)]
pub use frontmatter::scalar as yaml_scalar;
#[cfg(feature = "server")]
pub use server::{LiveSkills, Skill, Skills};

/// The identifier of the extension.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// Maximum number of files of a skill.
pub const MAX_FILES: usize = 512;

/// Maximum total size of all files of a skill, in bytes: 16 MiB.
pub const MAX_BYTES: u64 = 16 << 20;

/// Maximum size of a `SKILL.md`, in bytes: 1 MiB.
pub const MAX_INSTRUCTIONS: u64 = 1 << 20;
