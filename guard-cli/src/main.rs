//! guard-cli.
fn main() {}
