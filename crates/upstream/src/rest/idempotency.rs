//! In which header an API takes idempotency keys.

use super::operation::{Input, Operation, Spot};

/// Hosts, with everything below them, and the header that they document.
const HEADERS: [(&str, &str); 16] = [
    ("adyen.com", "Idempotency-Key"),
    ("adyenpayments.com", "Idempotency-Key"),
    ("checkout.com", "Cko-Idempotency-Key"),
    ("dwolla.com", "Idempotency-Key"),
    ("gocardless.com", "Idempotency-Key"),
    ("increase.com", "Idempotency-Key"),
    ("klarna.com", "Klarna-Idempotency-Key"),
    ("lithic.com", "Idempotency-Key"),
    ("mercadopago.com", "X-Idempotency-Key"),
    ("mollie.com", "Idempotency-Key"),
    ("moderntreasury.com", "Idempotency-Key"),
    ("paypal.com", "PayPal-Request-Id"),
    ("razorpay.com", "X-Payout-Idempotency"),
    ("resend.com", "Idempotency-Key"),
    ("stripe.com", "Idempotency-Key"),
    ("xendit.co", "X-Idempotency-Key"),
];

/// Whether requests of a method take a key: those that change something.
pub(super) fn takes_key(method: &str) -> bool {
    !matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY")
}

/// Whether an argument is a key that a call carries anyway.
pub(super) fn is_key(input: &Input) -> bool {
    let name = input.name.to_ascii_lowercase();
    input.spot == Spot::Header && name.contains("idempoten")
}

/// The header for keys of an operation: the configured one, one that the description declares, or
/// the one that the provider is known for. Only requests that change something take one.
pub(super) fn header<'a>(
    operation: &'a Operation,
    host: &str,
    configured: Option<&'a str>,
) -> Option<&'a str> {
    if !takes_key(operation.method()) {
        return None;
    }
    let declared = operation.inputs.iter().find(|input| is_key(input));
    let known = || {
        let below = |domain: &str| {
            let rest = host.strip_suffix(domain);
            rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let row = HEADERS.iter().find(|(domain, _)| below(domain));
        row.map(|(_, header)| *header)
    };
    configured
        .or_else(|| declared.map(|input| input.name.as_str()))
        .or_else(known)
}
