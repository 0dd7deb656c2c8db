//! The engine, where configuration, servers, store and catalog meet.

pub mod discovery;
