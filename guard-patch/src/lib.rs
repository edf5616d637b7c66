//! guard-patch.
