//! The #[tool], #[prompt] and #[resource] attributes of mcp-server
