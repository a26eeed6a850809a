//! Support code shared by the integration suites.
