//! TypeScript and JavaScript, read statically and never run.

use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::node::Node;
use crate::text::Source;

/// Reads the configuration that a script exports.
pub(super) fn read(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    Err(vec![
        Diagnostic::error("TypeScript and JavaScript files cannot be read yet").about(source),
    ])
}
