//! Why a call to an API gave no answer, in words that a person can act on.

use std::time::Duration;

/// Why a call to an API gave no answer. Texts hold no secret and no more of the address than its
/// host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The arguments cannot be made into a request.
    #[error("the arguments cannot be sent: {0}")]
    Arguments(String),
    /// The description and the configuration do not say where or how to call.
    #[error("it cannot be called: {0}")]
    Configuration(String),
    /// No token could be had.
    #[error("no access token could be had: {0}")]
    Token(String),
    /// The address is private.
    #[error(
        "{0} leads to a private or link-local address; set allowPrivateAddresses if that is meant"
    )]
    Private(String),
    /// It sent the call on to another host.
    #[error("it redirects to {0}, which is not followed")]
    Elsewhere(String),
    /// No connection could be made.
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    /// The connection broke after the request was sent.
    #[error("the connection broke: {0}")]
    Broken(String),
    /// It did not answer in time.
    #[error("it did not answer within {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// It answered with more than is read.
    #[error("it answered with more than {0} bytes")]
    TooLarge(usize),
    /// The permit is for another call.
    #[error("the permit is for another call")]
    Misused,
}

impl Failure {
    /// Whether the request certainly had no effect, so that sending it again repeats nothing.
    pub fn was_not_delivered(&self) -> bool {
        !matches!(
            self,
            Failure::Broken(_)
                | Failure::TimedOut(_)
                | Failure::TooLarge(_)
                | Failure::Elsewhere(_)
        )
    }
}

impl From<Failure> for crate::mcp::Failure {
    /// The same in the words that hold for every server.
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::TimedOut(timeout) => Self::TimedOut(timeout),
            Failure::TooLarge(bytes) => Self::TooLarge(bytes),
            Failure::Broken(why) => Self::Broken(why),
            Failure::Elsewhere(host) => Self::Elsewhere(host),
            Failure::Unreachable(why) => Self::Unreachable(why),
            Failure::Arguments(why) => Self::Arguments(why),
            Failure::Configuration(why) => Self::Configuration(why),
            // Why a token was refused is for whoever configures the client.
            Failure::Token(_) | Failure::Private(_) => Self::Configuration(failure.to_string()),
            Failure::Misused => Self::Unreachable(failure.to_string()),
        }
    }
}
