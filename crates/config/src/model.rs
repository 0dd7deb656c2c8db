//! The configuration as the rest of the product sees it.

pub mod server;
