//! Model Context Protocol types, generated from the official schema
