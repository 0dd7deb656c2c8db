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
/// Most files of one directory that are imported.
pub const IMPORT_DIRECTORY_FILES_MAX: usize = 200;
/// Longest name of a server.
pub const SERVER_NAME_CHARS_MAX: usize = 128;
/// Most bytes of all keys and strings of one configuration file once aliases and spreads are expanded.
pub const CONFIG_TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
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
/// How long a reload that was asked for over the control socket may take.
pub const CONTROL_RELOAD_TIMEOUT_MS: u64 = 30_000;
/// Most connections to the control socket at once.
pub const CONTROL_CONNECTIONS_MAX: usize = 16;
/// Most names that one list of an answer on the control socket holds; the rest is counted.
pub const CONTROL_NAMES_MAX: usize = 1_000;
/// Most characters of one text in an answer on the control socket.
pub const CONTROL_TEXT_CHARS_MAX: usize = 2_000;
/// Most running processes that a command asks.
pub const CONTROL_PROCESSES_MAX: usize = 64;
/// How long file changes are collected before a reload.
pub const RELOAD_DEBOUNCE_MS: u64 = 200;
/// Longest wait for file changes to come to rest before a reload.
pub const RELOAD_DEBOUNCE_TOTAL_MS_MAX: u64 = 1_000;
/// How often files are looked at where the system does watch them: some changes, such as those that
/// another machine makes on a shared file system, cause no event.
pub const RELOAD_RECHECK_MS: u64 = 30_000;
/// How often files are looked at where the system cannot watch them.
pub const RELOAD_POLL_MS: u64 = 2_000;
/// Most reload requests that wait at once.
pub const RELOAD_REQUESTS_MAX: usize = 64;
/// Most files whose changes lead to a reload.
pub const RELOAD_FILES_MAX: usize = 4_096;
/// Most symbolic links that are followed from one watched file.
pub const RELOAD_LINKS_MAX: usize = 32;
/// How long work under way may go on once the process was asked to end.
pub const SHUTDOWN_GRACE_MS: u64 = 2_000;
/// Longest scope.
pub const SCOPE_BYTES_MAX: usize = 200;
/// Most parts of one scope.
pub const SCOPE_PARTS_MAX: usize = 6;
/// Requests that a bucket gains each second unless configured.
pub const RATE_REQUESTS_PER_SECOND_DEFAULT: u32 = 10;
/// Requests that a full bucket holds unless configured.
pub const RATE_BURST_DEFAULT: u32 = 20;
/// Longest word that search keeps; the rest of it is cut off.
pub const SEARCH_WORD_BYTES_MAX: usize = 64;
/// Most words of one field of one tool that search reads.
pub const SEARCH_FIELD_WORDS_MAX: usize = 400;
/// Most words of a text whose order search remembers.
pub const SEARCH_SEQUENCE_WORDS_MAX: usize = 40;
/// Deepest nesting of parameters that search reads.
pub const SEARCH_SCHEMA_DEPTH_MAX: usize = 4;
/// Longest query that is read; the rest of it is ignored.
pub const SEARCH_QUERY_BYTES_MAX: usize = 4_096;
/// Most words of a query that are looked up.
pub const SEARCH_QUERY_WORDS_MAX: usize = 96;
/// How many hits a search gives when no number is asked for.
pub const SEARCH_LIMIT_DEFAULT: usize = 10;
/// Most hits that one search gives.
pub const SEARCH_LIMIT_MAX: usize = 1_000;
/// How many tools the words bring to the second look, at least.
pub const SEARCH_CANDIDATES: usize = 64;
/// Number of tools from which on a word is too common to bring in tools by itself.
pub const SEARCH_COMMON_WORD_TOOLS: usize = 4_096;
/// How many tools are completed with their common words before the second look.
pub const SEARCH_COMPLETED_TOOLS: usize = 512;
/// Most words that stand in for one unknown word of a query.
pub const SEARCH_STAND_INS_MAX: usize = 6;
/// Largest text of one call's arguments.
pub const ARGUMENTS_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Deepest nesting of one call's arguments.
pub const ARGUMENTS_DEPTH_MAX: usize = 48;
/// Most values in one call's arguments.
pub const ARGUMENTS_NODES_MAX: usize = 200_000;
