//! close
