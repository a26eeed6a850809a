//! sockets
