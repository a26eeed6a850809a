//! The envelope, seen from outside.

mod decode;
mod envelope;
mod hostile;
mod properties;
