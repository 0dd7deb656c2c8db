//! The `toolcrib` binary.

fn main() {}
