//! The rules of the house, held by tests: who may know whom, and how files look.

mod borders;
mod files;
mod links;
mod profiles;
