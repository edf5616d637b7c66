//! guard-backends.
