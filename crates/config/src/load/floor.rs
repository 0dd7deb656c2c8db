//! What a project file cannot relax: the policy that the user's own file sets.

use toolcrib_core::policy::settings::PolicySettings;

use crate::model::{Server, Settings};

/// Holds a project's settings to the user's: of two values the stricter one wins, and where the
/// calls are written down and who may connect is the user's alone.
pub fn hold(project: &mut Settings, user: &Settings) {
    hold_policy(&mut project.policy, &user.policy);
    project.store = user.store.clone();
    project.audit = user.audit.clone();
    project.http = user.http.clone();
    project.enabled.0 &= user.enabled.0;
}

/// Takes a project's word for its own servers only where the user's file says nothing about policy: what a trusted
/// server says of its tools lowers their risk.
pub fn hold_servers(project: &mut [Server], user: &Settings) {
    if says_something(&user.policy) {
        for server in project {
            server.handling.trusted = false;
        }
    }
}

fn says_something(policy: &PolicySettings) -> bool {
    *policy != PolicySettings::default()
}

fn hold_policy(project: &mut PolicySettings, user: &PolicySettings) {
    // An override can undo every other field for the tools that it is about; where the user's file
    // says anything about policy, the project's overrides only add to it.
    if says_something(user) {
        for correction in &mut project.overrides {
            correction.tightens_only = true;
        }
    }
    project.mode = project.mode.max(user.mode);
    project.confirmation = project.confirmation.max(user.confirmation);
    project.elicitation &= user.elicitation;
    project.approval = project.approval.max(user.approval);
    project.rest_compat &= user.rest_compat;
    project.strict_arguments = project.strict_arguments.max(user.strict_arguments);
    project.loopback_scopes.clone_from(&user.loopback_scopes);
    project.rate_limits.per_server = user.rate_limits.per_server;
    project.rate_limits.per_principal = user.rate_limits.per_principal;
    for (name, rate) in &user.rate_limits.buckets {
        project.rate_limits.buckets.insert(name.clone(), *rate);
    }
    // Of several overrides the first that sets a field decides, so the user's stand in front.
    let mut overrides = user.overrides.clone();
    overrides.append(&mut project.overrides);
    project.overrides = overrides;
}
