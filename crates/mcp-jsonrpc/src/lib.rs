//! JSON-RPC 2.0 envelope for the Model Context Protocol: parse, classify, print
