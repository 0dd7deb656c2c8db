//! Bounds of what is sent to a collector of traces.

/// Most characters of a caller's `tracestate` that are passed on.
pub const TRACESTATE_CHARS_MAX: usize = 512;
/// Most members of a caller's `tracestate`.
pub const TRACESTATE_MEMBERS_MAX: usize = 32;
/// Most spans that wait to be sent; more are dropped and counted.
pub const TRACE_QUEUE_SPANS_MAX: usize = 2_048;
/// Most spans that are sent at once.
pub const TRACE_BATCH_SPANS_MAX: usize = 512;
/// How long a span may wait for others before it is sent.
pub const TRACE_BATCH_MS_MAX: u64 = 5_000;
/// How long one delivery to the collector may take.
pub const TRACE_SEND_MS_MAX: u64 = 10_000;
/// How often a delivery is tried that the collector could not take for now.
pub const TRACE_SEND_ATTEMPTS_MAX: u32 = 4;
/// The first wait before a delivery is tried again; each further one is twice as long.
pub const TRACE_RETRY_MS: u64 = 1_000;
/// Longest wait that a collector may ask for.
pub const TRACE_RETRY_MS_MAX: u64 = 30_000;
/// How long what waits may take to be delivered when the process ends.
pub const TRACE_FLUSH_MS_MAX: u64 = 2_000;
/// Most bytes of a collector's answer that are read.
pub const TRACE_ANSWER_BYTES_MAX: usize = 64 * 1024;
/// Longest text of one attribute of a span.
pub const TRACE_TEXT_CHARS_MAX: usize = 256;
/// Most headers that deliveries to the collector carry, and most attributes of the process.
pub const TRACE_PAIRS_MAX: usize = 64;
