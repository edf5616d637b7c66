//! A target behind nothing but a byte stream to `/bin/sh`.

pub mod wire;
