//! Talk to Model Context Protocol servers: typed calls over any transport
