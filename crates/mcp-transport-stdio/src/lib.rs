//! Model Context Protocol over stdin and stdout, child processes and any pair of byte streams
