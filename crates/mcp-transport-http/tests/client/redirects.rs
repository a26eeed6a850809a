//! redirects
