//! The attributes of `mcp-macros`, used through `mcp-server`.

mod prompts;
mod resources;
mod tools;
