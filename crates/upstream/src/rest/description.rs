//! What a file says about an API, whatever its format, before tools are made of it.

use indexmap::IndexMap;
use serde_json::Value;

use super::flat::Flat;
use super::name::Origin;
use super::operation::DocumentedError;
use super::schema::Shared;
use super::security::{Alternative, Scheme};
use super::server::Address;
use super::warning::Warning;

/// An API as its file describes it.
pub(super) struct Description {
    pub(super) format: &'static str,
    pub(super) version: String,
    pub(super) title: Option<String>,
    pub(super) about: Option<String>,
    pub(super) documentation: Option<String>,
    pub(super) servers: Vec<Address>,
    pub(super) schemes: IndexMap<String, Scheme>,
    /// How many operations the file has, those that are left out included.
    pub(super) counted: usize,
    pub(super) shared: IndexMap<String, Shared>,
    pub(super) drafts: Vec<Draft>,
    pub(super) warnings: Vec<Warning>,
}

/// One operation, before it has a name.
pub(super) struct Draft {
    pub(super) origin: Origin,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) summary: String,
    pub(super) description: String,
    pub(super) category: Option<String>,
    pub(super) tags: Vec<String>,
    pub(super) deprecated: bool,
    pub(super) documentation: Option<String>,
    pub(super) extensions: Value,
    pub(super) security: Vec<Alternative>,
    pub(super) servers: Vec<Address>,
    pub(super) errors: Vec<DocumentedError>,
    pub(super) flat: Flat,
    pub(super) schema: Value,
    pub(super) output: Option<Value>,
    pub(super) accepts: Vec<String>,
}
