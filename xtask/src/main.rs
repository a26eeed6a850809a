//! Maintenance commands of the workspace.

fn main() {}
