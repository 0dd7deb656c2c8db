//! Why a discovery gave nothing.

use std::time::Duration;

use toolcrib_core::Code;
use toolcrib_core::retry::Trouble;
use toolcrib_upstream::mcp::{CallError, Failure};
use toolcrib_upstream::registry::RegistryError;

use crate::veil::cover;

/// Why a discovery gave nothing. Messages are sentences about the server that was asked, without
/// its name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// It could not be started.
    #[error("{0}; install it or correct its command")]
    StartFailed(String),
    /// It could not be reached, or the connection broke.
    #[error("{0}; check its command or address")]
    ConnectionFailed(String),
    /// It was reached and does not speak MCP.
    #[error("{0}; check its command or address")]
    SessionInitFailed(String),
    /// It does not give its list.
    #[error("it does not give its list: {0}")]
    ToolsListFailed(String),
    /// What it describes cannot be expressed as a type.
    #[error("one of its schemas cannot be converted: {0}")]
    SchemaConversionFailed(String),
    /// It, or our own limit for it, lets no request pass for so long.
    #[error("it takes no more requests for now; try again in {} s", .0.as_secs_f64().ceil())]
    RateLimited(Duration),
    /// It wants credentials, or refuses the ones it got.
    #[error("it refuses the credentials; {0}")]
    AuthenticationFailed(String),
    /// It did not answer in time; what it said to people meanwhile.
    #[error(
        "it did not answer within {} ms{}; raise startTimeoutMs or timeoutMs if it is just slow",
        .0.as_millis(),
        said(.1)
    )]
    Timeout(Duration, String),
    /// The registry gave nothing.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl DiscoveryError {
    /// What is wrong, without what to do about it: for who says that in words of their own.
    pub fn reason(&self) -> String {
        match self {
            Self::StartFailed(why) | Self::ConnectionFailed(why) | Self::SessionInitFailed(why) => {
                why.clone()
            }
            Self::RateLimited(_) => "it takes no more requests for now".to_owned(),
            Self::AuthenticationFailed(hint) if hint == LOG_IN => {
                "it refuses the credentials".to_owned()
            }
            Self::Timeout(after, stderr) => {
                format!(
                    "it did not answer within {} ms{}",
                    after.as_millis(),
                    said(stderr)
                )
            }
            error => error.to_string(),
        }
    }

    /// The code that callers of the doors see.
    pub fn code(&self) -> Code {
        match self {
            Self::RateLimited(_) => Code::RateLimited,
            _ => Code::ServerConnectionError,
        }
    }
}

fn said(stderr: &str) -> String {
    match stderr.trim() {
        "" => String::new(),
        stderr => format!("; it said: {stderr}"),
    }
}

/// What to do where a server refuses the credentials and says nothing more of it.
const LOG_IN: &str = "check its headers, or run `toolcrib login`";

/// What a server is given to wait when it says it is busy and not for how long.
const BUSY: Duration = Duration::from_secs(1);

impl From<Failure> for DiscoveryError {
    fn from(failure: Failure) -> Self {
        let said = cover(&failure.to_string());
        match failure {
            Failure::Status {
                status: 429,
                retry_after,
                ..
            } => Self::RateLimited(retry_after.unwrap_or(BUSY)),
            Failure::Status {
                status: 503,
                retry_after: Some(retry_after),
                ..
            } => Self::RateLimited(retry_after),
            Failure::Overloaded => Self::RateLimited(BUSY),
            Failure::Status {
                status: 401 | 403, ..
            } => Self::AuthenticationFailed(LOG_IN.to_owned()),
            Failure::Unauthorised(hint) => Self::AuthenticationFailed(cover(&hint)),
            Failure::TimedOut(after) => Self::Timeout(after, String::new()),
            Failure::NotReady { after, stderr } => Self::Timeout(after, cover(&stderr)),
            Failure::NotMcp(_) | Failure::SessionLost => Self::SessionInitFailed(said),
            Failure::NotStarted(_) => Self::StartFailed(said),
            Failure::Exited { .. }
            | Failure::Unreachable(_)
            | Failure::Configuration(_)
            | Failure::Broken(_)
            | Failure::Cancelled
            | Failure::Closed => Self::ConnectionFailed(said),
            _ => Self::ToolsListFailed(said),
        }
    }
}

impl From<CallError> for DiscoveryError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Failure(failure) | CallError::Unsent(failure) => failure.into(),
            CallError::Fault(fault) => Self::ToolsListFailed(fault.to_string()),
        }
    }
}

/// What a failure is as far as trying again is concerned, and how long the server asked to be left
/// alone.
pub(super) fn trouble(error: &CallError) -> (Trouble, Option<Duration>) {
    let Some(failure) = error.failure() else {
        return (Trouble::Lasting, None);
    };
    match failure {
        Failure::Status {
            status,
            retry_after,
            ..
        } => (Trouble::Status(*status), *retry_after),
        Failure::TimedOut(_) => (Trouble::TimedOut, None),
        Failure::Broken(_) | Failure::SessionLost => (Trouble::Reset, None),
        _ => (Trouble::Lasting, None),
    }
}

#[cfg(test)]
mod tests {
    use toolcrib_core::rpc::{Fault, INTERNAL_ERROR};

    use super::*;
    use DiscoveryError as E;

    fn status(status: u16, seconds: Option<u64>) -> Failure {
        Failure::Status {
            status,
            excerpt: String::new(),
            retry_after: seconds.map(Duration::from_secs),
        }
    }

    fn not_ready() -> Failure {
        Failure::NotReady {
            after: Duration::from_secs(1),
            stderr: "no database | giving up".into(),
        }
    }

    #[test]
    fn every_failure_has_its_error() {
        let check = |failure: Failure, expect: fn(&E) -> bool| {
            let error = DiscoveryError::from(failure.clone());
            assert!(expect(&error), "{failure:?} became {error:?}");
            assert!(!error.to_string().is_empty());
        };
        let connection: fn(&E) -> bool = |e| matches!(e, E::ConnectionFailed(_));
        check(Failure::NotStarted("no such file".into()), |e| {
            matches!(e, E::StartFailed(_))
        });
        check(Failure::Unreachable("refused".into()), connection);
        check(Failure::Broken("reset".into()), connection);
        check(Failure::Closed, connection);
        check(Failure::Cancelled, connection);
        check(
            Failure::Exited {
                status: "exit status: 1".into(),
                stderr: String::new(),
            },
            connection,
        );
        check(Failure::NotMcp("html".into()), |e| {
            matches!(e, E::SessionInitFailed(_))
        });
        check(Failure::SessionLost, |e| {
            matches!(e, E::SessionInitFailed(_))
        });
        check(Failure::TooLarge(1), |e| matches!(e, E::ToolsListFailed(_)));
        check(status(500, None), |e| matches!(e, E::ToolsListFailed(_)));
        check(status(503, None), |e| matches!(e, E::ToolsListFailed(_)));
        check(
            status(429, None),
            |e| matches!(e, E::RateLimited(d) if *d == BUSY),
        );
        check(
            status(503, Some(7)),
            |e| matches!(e, E::RateLimited(d) if d.as_secs() == 7),
        );
        check(Failure::Overloaded, |e| {
            e.code() == Code::RateLimited && matches!(e, E::RateLimited(_))
        });
        for failure in [status(401, None), Failure::Unauthorised("log in".into())] {
            check(failure, |e| {
                e.code() == Code::ServerConnectionError && matches!(e, E::AuthenticationFailed(_))
            });
        }
        check(Failure::TimedOut(Duration::from_secs(1)), |e| {
            matches!(e, E::Timeout(..))
        });
        let error = E::from(not_ready()).to_string();
        assert!(
            error.contains("1000 ms; it said: no database | giving up;"),
            "{error}"
        );
    }

    #[test]
    fn what_is_wrong_is_told_with_and_without_what_to_do() {
        let check = |failure: Failure, reason: &str, advice: &str| {
            let error = E::from(failure);
            assert_eq!(error.reason(), reason);
            assert_eq!(error.to_string(), format!("{reason}; {advice}"));
        };
        let exited = Failure::Exited {
            status: "exit status: 3".into(),
            stderr: "boom".into(),
        };
        let command = "check its command or address";
        let ended = "its process ended (exit status: 3); it said: boom";
        check(exited, ended, command);
        let unknown = Failure::Unreachable("no such host".into());
        check(unknown, "it cannot be reached: no such host", command);
        let missing = Failure::NotStarted("no such file".into());
        let started = "it could not be started: no such file";
        check(missing, started, "install it or correct its command");
        check(
            not_ready(),
            "it did not answer within 1000 ms; it said: no database | giving up",
            "raise startTimeoutMs or timeoutMs if it is just slow",
        );
        check(status(401, None), "it refuses the credentials", LOG_IN);
        let busy = "it takes no more requests for now";
        check(status(429, Some(7)), busy, "try again in 7 s");
    }

    #[test]
    fn only_what_passes_by_itself_is_tried_again() {
        let check = |failure: &Failure, expect| {
            let error = CallError::from(failure.clone());
            assert_eq!(trouble(&error), expect, "{failure:?}");
        };
        let after = Some(Duration::from_secs(3));
        check(&status(429, Some(3)), (Trouble::Status(429), after));
        check(
            &Failure::TimedOut(Duration::from_secs(1)),
            (Trouble::TimedOut, None),
        );
        // A server that does not get ready in all the time it has will not the next time either.
        check(&not_ready(), (Trouble::Lasting, None));
        check(&Failure::Broken("reset".into()), (Trouble::Reset, None));
        check(&Failure::SessionLost, (Trouble::Reset, None));
        check(
            &Failure::Unreachable("refused".into()),
            (Trouble::Lasting, None),
        );
        check(&Failure::NotMcp("html".into()), (Trouble::Lasting, None));
        let fault = CallError::Fault(Fault::new(INTERNAL_ERROR, "no list today"));
        assert_eq!(trouble(&fault), (Trouble::Lasting, None));
        let error = DiscoveryError::from(fault);
        assert!(matches!(&error, E::ToolsListFailed(said) if said.contains("no list today")));
    }
}
