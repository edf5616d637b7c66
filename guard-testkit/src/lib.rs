//! guard-testkit.
