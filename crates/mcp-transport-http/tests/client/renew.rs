//! renew
