// Generated from the official schema of 2025-11-25 at commit c4c367f9f58296a7053f5c78a52fd02bfbb56a49: do not edit. Run `cargo xtask codegen`.

//! Types of revision 2025-11-25, one module per area.

mod base;
pub use base::*;
mod choices;
pub use choices::*;
mod completion;
pub use completion::*;
mod content;
pub use content::*;
mod elicitation;
pub use elicitation::*;
mod forms;
pub use forms::*;
mod lifecycle;
pub use lifecycle::*;
mod logging;
pub use logging::*;
mod prompts;
pub use prompts::*;
mod resources;
pub use resources::*;
mod roots;
pub use roots::*;
mod sampling;
pub use sampling::*;
mod tasks;
pub use tasks::*;
mod tools;
pub use tools::*;
pub(crate) mod methods;
pub use methods::*;
pub(crate) mod v2026_07_28;
