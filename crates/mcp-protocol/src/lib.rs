//! The Model Context Protocol as a value: no I/O, no clock, no randomness
