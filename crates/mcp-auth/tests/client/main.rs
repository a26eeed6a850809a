//! The client's side against a scripted server and a scripted authorization server.

mod support;
