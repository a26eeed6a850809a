//! Integration suites across crates, one binary.
