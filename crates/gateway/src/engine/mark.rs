//! What decides whether a caller sees a tool, apart from everything else about it.

use std::sync::Arc;

use toolcrib_core::policy::{Approval, Caller, Requirement, Visibility, visible_by};

/// As much of a tool as [`visible_by`] asks for, and what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(super) enabled: bool,
    pub(super) approval: Approval,
    /// The scopes that a caller needs, all of these.
    pub(super) needs: Arc<[Requirement]>,
    /// The first of its domains.
    pub(super) domain: Option<Arc<str>>,
}

impl Mark {
    /// What a caller sees of the tool.
    pub(crate) fn visible(&self, caller: &Caller) -> Visibility {
        visible_by(caller, &self.needs, self.enabled, self.approval)
    }

    /// What the tool is about, where that is known.
    pub(crate) fn domain(&self) -> Option<&str> {
        self.domain.as_deref()
    }
}

/// Values that are kept once, however often they occur: the tools of one server need much the same.
#[derive(Default)]
pub(super) struct Once {
    needs: Vec<Arc<[Requirement]>>,
    domains: Vec<Arc<str>>,
}

impl Once {
    pub(super) fn needs(&mut self, needs: &[Requirement]) -> Arc<[Requirement]> {
        if let Some(known) = self.needs.iter().find(|known| ***known == *needs) {
            return Arc::clone(known);
        }
        let new: Arc<[Requirement]> = needs.into();
        self.needs.push(Arc::clone(&new));
        new
    }

    pub(super) fn domain(&mut self, domain: &str) -> Arc<str> {
        if let Some(known) = self.domains.iter().find(|known| ***known == *domain) {
            return Arc::clone(known);
        }
        let new: Arc<str> = domain.into();
        self.domains.push(Arc::clone(&new));
        new
    }
}
