//! Support code shared by the integration suites, and the fixtures they drive.

pub mod everything;
pub mod wire;
