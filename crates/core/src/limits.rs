//! Every bound of the product, named with its unit, in one place.
//!
//! Configuration may lower most of them; code refers to the name, never to the number.

/// Largest configuration file that is read.
pub const CONFIG_FILE_BYTES_MAX: u64 = 8 * 1024 * 1024;
/// Deepest nesting of a configuration value.
pub const CONFIG_DEPTH_MAX: usize = 64;
/// Most values one configuration file may hold once aliases and spreads are expanded.
pub const CONFIG_NODES_MAX: usize = 500_000;
/// Most diagnostics kept for one file; the rest is counted.
pub const CONFIG_DIAGNOSTICS_MAX: usize = 100;
/// Most bytes of one expanded string.
pub const CONFIG_STRING_BYTES_MAX: usize = 1024 * 1024;
/// Most servers one configuration may define, imports included.
pub const SERVERS_MAX: usize = 10_000;
/// Most rules one configuration may define.
pub const RULES_MAX: usize = 10_000;
/// Most steps a backtracking pattern may take for one name.
pub const PATTERN_BACKTRACK_STEPS_MAX: usize = 100_000;
/// Largest compiled pattern.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Largest message on the control socket.
pub const CONTROL_MESSAGE_BYTES_MAX: usize = 1024 * 1024;
/// How long one exchange on the control socket may take.
pub const CONTROL_TIMEOUT_MS: u64 = 5_000;
/// Most connections to the control socket at once.
pub const CONTROL_CONNECTIONS_MAX: usize = 16;
/// How long file changes are collected before a reload.
pub const RELOAD_DEBOUNCE_MS: u64 = 200;
/// Longest scope.
pub const SCOPE_BYTES_MAX: usize = 200;
/// Most parts of one scope.
pub const SCOPE_PARTS_MAX: usize = 6;
/// Requests that a bucket gains each second unless configured.
pub const RATE_REQUESTS_PER_SECOND_DEFAULT: u32 = 10;
/// Requests that a full bucket holds unless configured.
pub const RATE_BURST_DEFAULT: u32 = 20;
