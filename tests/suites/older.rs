//! Older revisions: what is stripped, replaced and refused, in both directions.
