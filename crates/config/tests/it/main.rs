//! Black-box tests of the configuration crate, one module per feature.

mod readers;
mod readers_hostile;
