//! Who asks, what they hold, and under which rules they ask.

use std::fmt;

use super::bucket::Rate;
use super::scope::{Scope, ScopeSet};
use super::settings::{Confirmation, Mode, PolicySettings};
use crate::error::{Code, Error};

/// Who asks, as far as a door could tell.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Principal {
    /// The person whose own process speaks over stdio.
    Local,
    /// A caller on this machine without credentials.
    Loopback,
    /// The holder of an API key, by the key's id.
    Key(String),
    /// The subject of a token, told apart from other issuers' subjects by the door.
    Subject(String),
    /// Nobody known.
    Anonymous,
}

impl fmt::Display for Principal {
    /// Writes the id that records and keys are kept under; no two principals share one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Principal::Local => f.write_str("local"),
            Principal::Loopback => f.write_str("loopback"),
            Principal::Key(id) => write!(f, "key:{id}"),
            Principal::Subject(subject) => write!(f, "subject:{subject}"),
            Principal::Anonymous => f.write_str("anonymous"),
        }
    }
}

/// A principal with its scopes and the rules that hold for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// Who asks.
    pub principal: Principal,
    /// What the principal was granted.
    pub scopes: ScopeSet,
    /// How much must be added to a risky request.
    pub mode: Mode,
    /// Who can confirm.
    pub confirmation: Confirmation,
    /// Whether arguments that a schema is silent about are refused.
    pub strict_arguments: bool,
    /// How often this caller may call, all tools together.
    pub rate: Option<Rate>,
}

impl Caller {
    /// The person on stdio: every scope, relaxed unless configured.
    pub fn local(settings: &PolicySettings) -> Self {
        Self::new(Principal::Local, ScopeSet::all(), settings)
    }

    /// A caller on loopback without credentials: the configured scopes, strict unless configured.
    pub fn loopback(settings: &PolicySettings) -> Self {
        let scopes = settings.loopback_scopes.iter().cloned().collect();
        Self::new(Principal::Loopback, scopes, settings)
    }

    /// The holder of an API key.
    pub fn key(id: impl Into<String>, scopes: ScopeSet, settings: &PolicySettings) -> Self {
        Self::new(Principal::Key(id.into()), scopes, settings)
    }

    /// The subject of a token.
    pub fn subject(
        subject: impl Into<String>,
        scopes: ScopeSet,
        settings: &PolicySettings,
    ) -> Self {
        Self::new(Principal::Subject(subject.into()), scopes, settings)
    }

    /// Somebody unknown, who may do nothing.
    pub fn anonymous(settings: &PolicySettings) -> Self {
        Self::new(Principal::Anonymous, ScopeSet::none(), settings)
    }

    fn new(principal: Principal, scopes: ScopeSet, settings: &PolicySettings) -> Self {
        let usual_mode = match principal {
            Principal::Local => Mode::Relaxed,
            _ => Mode::Strict,
        };
        let mode = settings.mode.unwrap_or(usual_mode);
        let on_this_machine = matches!(principal, Principal::Local | Principal::Loopback);
        let usual_confirmation = match mode {
            Mode::Strict if !on_this_machine => Confirmation::Human,
            _ => Confirmation::Flag,
        };
        Self {
            principal,
            scopes,
            mode,
            confirmation: settings.confirmation.unwrap_or(usual_confirmation),
            strict_arguments: settings.strict_arguments.unwrap_or(mode == Mode::Strict),
            rate: settings.rate_limits.per_principal,
        }
    }

    /// Whether the caller may act on Toolcrib itself in the way that `scope` names.
    pub fn require(&self, scope: &Scope) -> Result<(), Error> {
        if self.principal != Principal::Anonymous && self.scopes.covers(scope) {
            return Ok(());
        }
        Err(Error::new(
            Code::ScopeRequired,
            format!("This needs the scope `{scope}`."),
        )
        .suggest("Use a key that was granted it by name; `*` does not include it"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_door_has_its_usual_rules() {
        let settings = PolicySettings::default();
        let local = Caller::local(&settings);
        assert_eq!(
            (local.mode, local.confirmation),
            (Mode::Relaxed, Confirmation::Flag)
        );
        assert!(!local.strict_arguments);
        let loopback = Caller::loopback(&settings);
        assert_eq!(
            (loopback.mode, loopback.confirmation),
            (Mode::Strict, Confirmation::Flag)
        );
        assert!(loopback.strict_arguments);
        assert_eq!(loopback.scopes, ScopeSet::all());
        let key = Caller::key("k1", ScopeSet::none(), &settings);
        assert_eq!(
            (key.mode, key.confirmation),
            (Mode::Strict, Confirmation::Human)
        );
        assert_eq!(key.principal.to_string(), "key:k1");
        let subject = Caller::subject("local", ScopeSet::none(), &settings);
        assert_eq!(subject.principal.to_string(), "subject:local");
        assert_eq!(Caller::anonymous(&settings).scopes, ScopeSet::none());
    }

    #[test]
    fn settings_overrule_the_usual_rules() {
        let settings = PolicySettings {
            mode: Some(Mode::Relaxed),
            confirmation: Some(Confirmation::Human),
            loopback_scopes: Vec::new(),
            strict_arguments: Some(true),
            ..PolicySettings::default()
        };
        let loopback = Caller::loopback(&settings);
        assert_eq!(
            (loopback.mode, loopback.confirmation),
            (Mode::Relaxed, Confirmation::Human)
        );
        assert_eq!(loopback.scopes, ScopeSet::none());
        assert!(Caller::local(&settings).strict_arguments);
        let relaxed = PolicySettings {
            mode: Some(Mode::Relaxed),
            ..PolicySettings::default()
        };
        let key = Caller::key("k", ScopeSet::all(), &relaxed);
        assert_eq!(key.confirmation, Confirmation::Flag);
    }

    #[test]
    fn acts_on_toolcrib_itself_need_a_grant_by_name() {
        let settings = PolicySettings::default();
        let approve = Scope::parse("toolcrib:approve").unwrap();
        let refused = Caller::loopback(&settings).require(&approve).unwrap_err();
        assert_eq!(refused.code, Code::ScopeRequired);
        let named = ScopeSet::from_texts(["toolcrib:approve"]);
        assert!(
            Caller::key("k", named.clone(), &settings)
                .require(&approve)
                .is_ok()
        );
        let nobody = Caller {
            scopes: named,
            ..Caller::anonymous(&settings)
        };
        assert!(nobody.require(&approve).is_err());
    }
}
