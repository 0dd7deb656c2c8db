//! Whether a tool's definition may be used, waits, or was turned down: pure.

use toolcrib_core::policy::ApprovalMode;

/// Where a tool stands after its definition was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The definition is the accepted one.
    Unchanged,
    /// The tool is new and was accepted without asking.
    AcceptedNew,
    /// The definition changed and was accepted without asking.
    AcceptedChanged,
    /// The tool is new and waits for a person.
    PendingNew,
    /// The definition changed and waits for a person.
    PendingChanged,
    /// A person turned this definition, or the whole server, down.
    Rejected,
}

impl Standing {
    /// Whether the tool may be found and run.
    pub const fn is_usable(self) -> bool {
        matches!(
            self,
            Self::Unchanged | Self::AcceptedNew | Self::AcceptedChanged
        )
    }

    /// Whether the tool waits for a person.
    pub const fn is_pending(self) -> bool {
        matches!(self, Self::PendingNew | Self::PendingChanged)
    }
}

/// What was decided about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerStanding {
    /// Its tools were never looked at, or it waits itself.
    Unvetted,
    /// Its first list was accepted, or a person approved it.
    Vetted,
    /// A person turned it down.
    Rejected,
}

/// What is accepted of a tool now, compared to what the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Accepted {
    /// Nothing.
    Nothing,
    /// The same definition.
    Same {
        /// Whether a person said so.
        by_person: bool,
    },
    /// Another definition.
    Other,
}

/// The circumstances of one tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) mode: ApprovalMode,
    /// Whether the first list of this server is accepted without asking: the user configured or
    /// trusted it, rather than finding it in a registry or by introspection.
    pub(crate) first_list_accepted: bool,
    pub(crate) server: ServerStanding,
    pub(crate) accepted: Accepted,
    /// Whether a person turned this very definition down.
    pub(crate) turned_down: bool,
}

/// Where the tool stands.
pub(crate) fn judge(case: Case) -> Standing {
    if case.server == ServerStanding::Rejected || case.turned_down {
        return Standing::Rejected;
    }
    if case.accepted == (Accepted::Same { by_person: true }) {
        return Standing::Unchanged;
    }
    let first_list = case.server == ServerStanding::Unvetted;
    if first_list && !case.first_list_accepted {
        return pending(case.accepted);
    }
    match case.mode {
        ApprovalMode::Off => accept(case.accepted),
        ApprovalMode::Changed if first_list => accept(case.accepted),
        ApprovalMode::Changed => match case.accepted {
            Accepted::Same { .. } => Standing::Unchanged,
            other => pending(other),
        },
        ApprovalMode::All => pending(case.accepted),
    }
}

fn accept(accepted: Accepted) -> Standing {
    match accepted {
        Accepted::Nothing => Standing::AcceptedNew,
        Accepted::Same { .. } => Standing::Unchanged,
        Accepted::Other => Standing::AcceptedChanged,
    }
}

fn pending(accepted: Accepted) -> Standing {
    match accepted {
        Accepted::Other => Standing::PendingChanged,
        Accepted::Nothing | Accepted::Same { .. } => Standing::PendingNew,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODES: [ApprovalMode; 3] = [ApprovalMode::Off, ApprovalMode::Changed, ApprovalMode::All];
    const SERVERS: [ServerStanding; 3] = [
        ServerStanding::Unvetted,
        ServerStanding::Vetted,
        ServerStanding::Rejected,
    ];
    const ACCEPTED: [Accepted; 4] = [
        Accepted::Nothing,
        Accepted::Same { by_person: false },
        Accepted::Same { by_person: true },
        Accepted::Other,
    ];

    fn every_case() -> Vec<Case> {
        let mut cases = Vec::new();
        for mode in MODES {
            for server in SERVERS {
                for accepted in ACCEPTED {
                    for bits in 0..4 {
                        cases.push(Case {
                            mode,
                            server,
                            accepted,
                            first_list_accepted: bits & 1 == 1,
                            turned_down: bits & 2 == 2,
                        });
                    }
                }
            }
        }
        cases
    }

    /// Whether a tool may be used, said once more as plainly as the rules are written.
    fn usable(case: Case) -> bool {
        let by_person = case.accepted == Accepted::Same { by_person: true };
        let same = by_person || case.accepted == Accepted::Same { by_person: false };
        let found_by_user = case.first_list_accepted || case.server == ServerStanding::Vetted;
        let first = case.server == ServerStanding::Unvetted;
        let refused = case.turned_down || case.server == ServerStanding::Rejected;
        !refused
            && (by_person
                || (found_by_user
                    && match case.mode {
                        ApprovalMode::Off => true,
                        ApprovalMode::Changed => same || first,
                        ApprovalMode::All => false,
                    }))
    }

    #[test]
    fn every_combination_agrees_with_the_rules_as_written() {
        let cases = every_case();
        assert_eq!(cases.len(), 144);
        for case in cases {
            let standing = judge(case);
            assert_eq!(standing.is_usable(), usable(case), "{case:?}: {standing:?}");
            assert!(!(standing.is_usable() && standing.is_pending()));
        }
    }

    #[test]
    fn a_stricter_mode_never_allows_more() {
        for case in every_case() {
            let usable = MODES.map(|mode| judge(Case { mode, ..case }).is_usable());
            assert!(usable[0] >= usable[1] && usable[1] >= usable[2], "{case:?}");
        }
    }

    #[test]
    fn new_and_changed_are_told_apart() {
        let case = |mode, accepted| {
            judge(Case {
                mode,
                accepted,
                first_list_accepted: true,
                server: ServerStanding::Vetted,
                turned_down: false,
            })
        };
        assert_eq!(
            case(ApprovalMode::Off, Accepted::Nothing),
            Standing::AcceptedNew
        );
        assert_eq!(
            case(ApprovalMode::Off, Accepted::Other),
            Standing::AcceptedChanged
        );
        assert_eq!(
            case(ApprovalMode::Changed, Accepted::Nothing),
            Standing::PendingNew
        );
        assert_eq!(
            case(ApprovalMode::Changed, Accepted::Other),
            Standing::PendingChanged
        );
        assert_eq!(
            case(ApprovalMode::All, Accepted::Other),
            Standing::PendingChanged
        );
    }
}
