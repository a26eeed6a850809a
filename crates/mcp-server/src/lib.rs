//! Write Model Context Protocol servers: plain functions become tools, prompts and resources
