//! Who may run what: callers, scopes, risk, decisions and permits.
