//! Servers that do what a test says.
