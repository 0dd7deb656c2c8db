//! The real binary, from the outside: one module for each feature.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod adapter;
mod agent;
mod attempts;
mod beside;
mod bundle;
mod canary;
mod capability;
mod children;
mod clients;
mod completions;
mod config;
mod counter;
mod demo;
mod destinations;
mod doctor;
mod door;
mod door_reload;
mod doors;
mod executing;
mod export;
mod five;
mod frame;
mod gateway;
mod gateway_failures;
mod home;
mod import;
mod kill;
mod login;
mod memory;
mod minute;
mod misspelling;
mod modes;
mod order;
mod payments;
mod person;
mod registry;
mod registry_file;
mod reload;
mod rest;
mod review;
mod rtfs;
mod rules;
mod serve;
mod setup;
mod stage;
mod standing;
mod terminal;
mod toolkit;
mod traces;
mod transcripts;
mod trust;
mod web;

#[path = "../../../../examples/embed.rs"]
mod embed;

#[test]
fn the_example_runs() {
    embed::main().unwrap();
}
