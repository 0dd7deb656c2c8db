//! Stand-in servers, fault injection and other test support.

pub mod remote;
