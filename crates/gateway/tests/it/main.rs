//! The real binary, from the outside: one module for each feature.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod config;
mod counter;
mod demo;
mod door;
mod export;
mod frame;
mod home;
mod import;
mod login;
mod memory;
mod registry;
mod reload;
mod rtfs;
mod rules;
mod serve;
mod trust;
