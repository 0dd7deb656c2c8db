//! Every bound of the product, named with its unit, in one place.
//!
//! Configuration may lower most of them; code refers to the name, never to the number.

mod doors;
mod traces;

pub use doors::*;
pub use traces::*;

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
/// Longest that one call may be given.
pub const CALL_TIMEOUT_MS_MAX: u64 = 24 * 60 * 60 * 1000;
/// Longest that starting a server may be given.
pub const START_TIMEOUT_MS_MAX: u64 = 60 * 60 * 1000;
/// Longest name of a server.
pub const SERVER_NAME_CHARS_MAX: usize = 128;
/// Most bytes of all keys and strings of one configuration file once aliases and spreads are expanded.
pub const CONFIG_TEXT_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Largest configuration written in TypeScript or JavaScript.
pub const CONFIG_SCRIPT_BYTES_MAX: usize = 1024 * 1024;
/// Most brackets that may be open at once in a configuration script.
pub const CONFIG_SCRIPT_BRACKETS_MAX: usize = 128;
/// Most parentheses, and most angle brackets, that may be open at once in a configuration script.
pub const CONFIG_SCRIPT_PARENS_NESTED_MAX: usize = 32;
/// Most parentheses, and most angle brackets, of a configuration script.
pub const CONFIG_SCRIPT_PARENS_MAX: usize = 10_000;
/// Most tokens of a configuration script without a comma or semicolon between them, counted over all
/// open brackets.
pub const CONFIG_SCRIPT_CHAIN_TOKENS_MAX: usize = 2_048;
/// Stack of the thread that reads a configuration script.
pub const CONFIG_SCRIPT_STACK_BYTES: usize = 64 * 1024 * 1024;
/// Most servers one configuration may define, imports included.
pub const SERVERS_MAX: usize = 10_000;
/// Largest file of an API description.
pub const ADAPTER_FILE_BYTES_MAX: u64 = 32 * 1024 * 1024;
/// Most files that one API description may consist of.
pub const ADAPTER_FILES_MAX: usize = 500;
/// Most bytes of all files of one API description.
pub const ADAPTER_FILES_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Most values in one file of an API description once aliases are expanded.
pub const ADAPTER_NODES_MAX: usize = 4_000_000;
/// Most bytes of all texts in one file of an API description once aliases are expanded.
pub const ADAPTER_TEXT_BYTES_MAX: usize = 128 * 1024 * 1024;
/// Deepest nesting of an API description.
pub const ADAPTER_DEPTH_MAX: usize = 120;
/// Most references that are followed from one place of an API description to the next.
pub const ADAPTER_REFERENCES_MAX: usize = 32;
/// Most operations of one API description that become tools; the rest is left out and counted.
pub const ADAPTER_OPERATIONS_MAX: usize = 20_000;
/// Most warnings about one API description that are kept; the rest is counted.
pub const ADAPTER_WARNINGS_MAX: usize = 500;
/// Longest description of an operation; the rest is cut off.
pub const ADAPTER_DESCRIPTION_BYTES_MAX: usize = 16 * 1024;
/// Longest description of one parameter or part of a schema; the rest is cut off.
pub const ADAPTER_NOTE_BYTES_MAX: usize = 2 * 1024;
/// Largest example of an API description that is kept.
pub const ADAPTER_EXAMPLE_BYTES_MAX: usize = 4 * 1024;
/// Longest name of a tool that is made from an operation.
pub const ADAPTER_TOOL_NAME_BYTES_MAX: usize = 100;
/// Most documented errors of one operation that are kept.
pub const ADAPTER_ERRORS_MAX: usize = 20;
/// Largest request to a REST API.
pub const ADAPTER_REQUEST_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest address of a request to a REST API.
pub const ADAPTER_ADDRESS_BYTES_MAX: usize = 64 * 1024;
/// Largest answer of a REST API that is read, unpacked.
pub const ADAPTER_ANSWER_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most of a REST API's error that is passed on where it is not JSON.
pub const ADAPTER_ERROR_BYTES_MAX: usize = 4 * 1024;
/// Most redirects within a host that one call follows.
pub const ADAPTER_REDIRECTS_MAX: usize = 5;
/// How long connecting to a REST API may take.
pub const ADAPTER_CONNECT_TIMEOUT_MS: u64 = 10_000;
/// How long fetching one file of an API description may take.
pub const ADAPTER_FETCH_TIMEOUT_MS: u64 = 30_000;
/// How long before its end a token of a REST API is renewed.
pub const ADAPTER_TOKEN_LEEWAY_MS: i64 = 30_000;
/// Largest answer of a token endpoint.
pub const ADAPTER_TOKEN_ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Deepest nesting of a value that a type is read off.
pub const ADAPTER_INFERENCE_DEPTH_MAX: usize = 12;
/// Most rules one configuration may define.
pub const RULES_MAX: usize = 10_000;
/// Most steps a backtracking pattern may take for one name.
pub const PATTERN_BACKTRACK_STEPS_MAX: usize = 100_000;
/// Largest compiled pattern.
pub const PATTERN_COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Longest text of one pattern.
pub const PATTERN_TEXT_BYTES_MAX: usize = 4 * 1024;
/// Longest name that patterns are tried on; a longer one is denied.
pub const PATTERN_NAME_BYTES_MAX: usize = 1024;
/// Deepest nesting of groups or braces in one pattern.
pub const PATTERN_NESTING_MAX: usize = 50;
/// Most steps one pattern may unfold to, repetitions multiplied out.
pub const PATTERN_STEPS_MAX: usize = 20_000;
/// Most steps all patterns of one rule set may unfold to; plain globs do not count.
pub const RULE_SET_STEPS_MAX: usize = 500_000;
/// Most patterns in all rules of one rule set.
pub const RULE_SET_PATTERNS_MAX: usize = 50_000;
/// Most literals that one pattern may ask to be looked for before it is tried.
pub const PATTERN_NEEDLES_MAX: usize = 32;
/// Most characters of a name that are compared when the nearest ones are looked for.
pub const NEAREST_NAME_CHARS_MAX: usize = 128;
/// Most slips by which a suggested name may differ, however long it is.
pub const NEAREST_SLIPS_MAX: usize = 6;
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
/// How often the way to the watched files is gone again because a directory came to be on it meanwhile.
pub const RELOAD_WATCH_ROUNDS_MAX: usize = 32;
/// How long calls under way may go on once the process was asked to end; then they are cancelled. With what
/// follows it lies below the ten seconds that containers are given to stop.
pub const SHUTDOWN_DRAIN_MS: u64 = 5_000;
/// How long whatever was cancelled or closed at the end may take to notice.
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
/// Most tools of one server that are searched: 2^20.
pub const SEARCH_SERVER_TOOLS_MAX: usize = 1 << 20;
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
/// Most units of work that wait for the store's writer.
pub const STORE_QUEUE_MAX: usize = 4_096;
/// Most units of work that share one commit.
pub const STORE_GROUP_MAX: usize = 512;
/// How long, in milliseconds, records that nobody waits for are gathered for one commit.
pub const STORE_LINGER_MS: u64 = 10;
/// Most connections that read the store at once.
pub const STORE_READERS_MAX: usize = 4;
/// How long one attempt to lock the store waits for another process.
pub const STORE_BUSY_TIMEOUT_MS: u64 = 5_000;
/// How often a lock that another process holds is tried again after the first attempt.
pub const STORE_BUSY_RETRIES_MAX: u32 = 2;
/// How often opening a store is tried again, 50 ms apart, while others open it too.
pub const STORE_OPEN_RETRIES_MAX: u32 = 40;
/// What the write-ahead log may keep on disk between checkpoints.
pub const STORE_WAL_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// How long the file of the write-ahead log is made before it is needed: longer than it becomes before SQLite starts over
/// at its beginning, which is after 1,000 pages of 4 KiB.
pub const STORE_WAL_BYTES_AHEAD: u64 = 4_608 * 1024;
/// What `toolcrib doctor` writes into a directory and takes away again, to see whether its disk has room.
pub const DISK_PROBE_BYTES: usize = 64 * 1024;
/// By how much the file of the write-ahead log is made longer at a time.
pub const STORE_WAL_STEP_BYTES: usize = 256 * 1024;
/// How many commits a process makes before the log is made longer for it: a command makes fewer.
pub const STORE_WAL_STEP_COMMITS: u32 = 8;
/// Most endings of executions kept in memory while the store cannot be written.
pub const STORE_UNSETTLED_MAX: usize = 10_000;
/// Most rows that one unit of recovery, purging or retention touches.
pub const STORE_BATCH_ROWS_MAX: i64 = 1_000;
/// Most bytes of a name (caller, tool, server, trace) in a stored record.
pub const RECORD_NAME_BYTES_MAX: usize = 512;
/// Most bytes of the reason in an audit record.
pub const AUDIT_REASON_BYTES_MAX: usize = 2_048;
/// Most bytes of parameters kept in an audit record.
pub const AUDIT_PARAMETERS_BYTES_MAX: usize = 64 * 1024;
/// Most records in one page of the audit log.
pub const AUDIT_PAGE_ROWS_MAX: usize = 1_000;
/// How often `audit tail --follow` looks for new records.
pub const AUDIT_FOLLOW_MS: u64 = 500;
/// Most lines of either text that a shown difference compares; longer ones are shown whole.
pub const DIFFERENCE_LINES_MAX: usize = 4_000;
/// Most problems that one verification of the audit log lists; the rest is counted.
pub const AUDIT_PROBLEMS_MAX: usize = 100;
/// Longest idempotency key.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// Largest answer kept for an idempotency key.
pub const IDEMPOTENCY_ANSWER_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long an idempotency key is remembered.
pub const IDEMPOTENCY_KEPT_MS: i64 = 24 * 60 * 60 * 1_000;
/// How often a key that another process works on is looked at.
pub const IDEMPOTENCY_POLL_MS: u64 = 100;
/// How long a confirmation may wait for a person, and then for its use.
pub const CONFIRMATION_KEPT_MS: i64 = 10 * 60 * 1_000;
/// Most characters of the arguments in a question that a client puts to its person; about longer
/// ones it is not asked, because nobody confirms what is not shown.
pub const CONFIRMATION_QUESTION_CHARS_MAX: usize = 1_000;
/// Most confirmations of one caller that wait at once.
pub const CONFIRMATIONS_PENDING_MAX: i64 = 100;
/// How long a settled request for approval stays listed.
pub const APPROVAL_HISTORY_MS: i64 = 90 * 24 * 60 * 60 * 1_000;
/// Most requests for approval in one list.
pub const APPROVALS_LISTED_MAX: i64 = 10_000;
/// Largest definition of a tool kept for a diff.
pub const DEFINITION_BYTES_MAX: usize = 1024 * 1024;
/// Most API keys that one store holds.
pub const KEYS_MAX: i64 = 10_000;
/// Most scopes of one API key.
pub const KEY_SCOPES_MAX: usize = 100;
/// Largest token record of an authorization server.
pub const TOKEN_BYTES_MAX: usize = 256 * 1024;
/// Largest result kept for reading by pages.
pub const RESULT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most results kept for one principal; the oldest give way.
pub const RESULTS_PER_PRINCIPAL_MAX: i64 = 64;
/// Most distinct counters of one day.
pub const COUNTERS_MAX: usize = 1_000;
/// How long a tool list on disk counts as fresh.
pub const TOOL_CACHE_TTL_MS: i64 = 24 * 60 * 60 * 1_000;
/// The shortest time that a tool list counts as fresh where its server names one, so that nobody is asked
/// at each request.
pub const LIST_FRESH_MS_MIN: i64 = 60_000;
/// How long a registry answer on disk counts as fresh.
pub const REGISTRY_CACHE_TTL_MS: i64 = 60 * 60 * 1_000;
/// How long an entry in memory counts as fresh.
pub const MEMORY_CACHE_TTL_MS: i64 = 60 * 60 * 1_000;
/// How long a stale tool list may still answer while it is refreshed.
pub const CACHE_STALE_MS_MAX: i64 = 30 * 24 * 60 * 60 * 1_000;
/// Largest file of the tool-list cache.
pub const CACHE_FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Longest readable part of a cache file's name.
pub const CACHE_NAME_BYTES_MAX: usize = 80;
/// How many servers the file of eras knows, entries.
pub const CACHE_ERAS_MAX: usize = 4_096;
/// Most entries of one cache in memory.
pub const CACHE_MEMORY_ENTRIES_MAX: usize = 10_000;
/// How old a temporary file of the cache must be before it counts as left behind.
pub const CACHE_LEFTOVER_MS: i64 = 60 * 60 * 1_000;
/// Most values in one JSON Schema.
pub const SCHEMA_NODES_MAX: usize = 50_000;
/// Deepest nesting of one JSON Schema.
pub const SCHEMA_DEPTH_MAX: usize = 100;
/// Most regular expressions in one JSON Schema.
pub const SCHEMA_PATTERNS_MAX: usize = 500;
/// Longest regular expression in a JSON Schema.
pub const SCHEMA_PATTERN_BYTES_MAX: usize = 4_096;
/// Largest compiled regular expression of a JSON Schema.
pub const SCHEMA_PATTERN_COMPILED_BYTES_MAX: usize = 512 * 1024;
/// Most steps that a backtracking regular expression of a JSON Schema may take for one text.
pub const SCHEMA_PATTERN_BACKTRACK_STEPS_MAX: usize = 10_000;
/// Most subschemas that may speak about one and the same value.
pub const SCHEMA_EXPANSION_MAX: usize = 20_000;
/// Longest chain of subschemas, each inside or referred to by the one before, about one value.
pub const SCHEMA_CHAIN_MAX: usize = 40;
/// Most subschemas that are applied in checking one call's arguments.
pub const SCHEMA_STEPS_MAX: usize = 200_000;
/// Most violations that are listed; the rest is counted.
pub const VIOLATIONS_MAX: usize = 20;
/// Most violations that the sentence of a refusal names.
pub const VIOLATIONS_SAID_MAX: usize = 3;
/// Most violations that are counted.
pub const VIOLATIONS_COUNTED_MAX: usize = 1_000;
/// Longest description of what would be allowed.
pub const VIOLATION_ALLOWED_CHARS_MAX: usize = 200;
/// Most compiled validators that are kept.
pub const VALIDATORS_MAX: usize = 4_096;
/// Most values in all schemas whose compiled validators are kept.
pub const VALIDATORS_NODES_MAX: usize = 1_000_000;
/// How long a call may take unless configured.
pub const CALL_TIMEOUT_MS_DEFAULT: u64 = 30_000;
/// Longest time-out that a caller may ask for, where the configuration does not allow more.
pub const CALL_TIMEOUT_MS_ASKED_MAX: u64 = 600_000;
/// Most of a description that is looked at for signs of deceit.
pub const SUSPICION_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Most texts of one tool's schema that are looked at for signs of deceit.
pub const SUSPICION_TEXTS_MAX: usize = 2_000;
/// Most flags on one tool.
pub const SUSPICION_FLAGS_MAX: usize = 20;
/// Most tools in scope for which meanings alone bring in tools; beyond it words do.
pub const SEARCH_MEANING_SCAN_TOOLS: usize = 12_000;
/// How many tools are compared with the wish in full, those whose signs agree best.
pub const SEARCH_MEANING_COMPARED: usize = 128;
/// How many tools their meaning brings to the second look, at most.
pub const SEARCH_MEANING_CANDIDATES: usize = 24;
/// How many tools are offered when someone has to choose.
pub const SEARCH_ALTERNATIVES: usize = 3;
/// How often a request that may be repeated is tried again unless configured.
pub const RETRIES_DEFAULT: u32 = 3;
/// The delay before the first retry unless configured.
pub const RETRY_DELAY_MS_DEFAULT: u64 = 1_000;
/// The longest delay before a retry unless configured.
pub const RETRY_DELAY_MS_MAX_DEFAULT: u64 = 30_000;
/// How many servers are discovered at once unless asked otherwise.
pub const DISCOVERIES_PARALLEL_DEFAULT: usize = 5;
/// Most servers that are discovered at once, whatever is asked for.
pub const DISCOVERIES_PARALLEL_MAX: usize = 64;
/// How long one attempt at a server's list may take when nothing is configured: starting it and asking it.
pub const DISCOVERY_ATTEMPT_MS_DEFAULT: u64 = 90_000;
/// How long a search on the command line waits for servers that have yet to answer, where others have found something.
pub const SEARCH_PATIENCE_MS: u64 = 10_000;
/// How long a server that is being asked for its list may keep others waiting to be asked.
pub const DISCOVERY_PLACE_MS: u64 = 5_000;
/// Most servers whose rate buckets are remembered; full ones give way.
pub const DISCOVERY_BUCKETS_MAX: usize = 10_000;
/// Longest name of a tool.
pub const TOOL_NAME_CHARS_MAX: usize = 256;
/// How long a search waits for servers whose tools are not known yet.
pub const SEARCH_WAIT_MS: u64 = 2_000;
/// How long a server is asked at a time to tell of a resource; it is asked again after that.
pub const FOLLOW_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// How long to wait before a server that stopped telling of a resource is asked again.
pub const FOLLOW_PAUSE_MS: u64 = 1_000;
/// The longest rate limit that is waited out where a client wants to follow a resource.
pub const FOLLOW_WAIT_MS_MAX: u64 = 10_000;
/// How long a server that could not be asked for its tools is left alone.
pub const LIST_RETRY_MS: i64 = 30_000;
/// How long a server is left alone that says each time it is asked for its tools that they changed.
pub const LIST_AGAIN_MS: u64 = 5_000;
/// Most tools that a not-found answer suggests.
pub const NEAREST_TOOLS_MAX: usize = 5;
/// Most names that a not-found answer lists; the rest is counted.
pub const AVAILABLE_NAMES_MAX: usize = 20;
/// How often the store is asked whether somebody settled an approval.
pub const APPROVAL_POLL_MS: u64 = 2_000;
/// How often it is looked whether a process that shares the store died and left something open.
pub const RECOVERY_MS: u64 = 5_000;
/// How often the store is maintained.
pub const MAINTENANCE_MS: u64 = 10 * 60 * 1_000;
/// Most token buckets that are remembered.
pub const BUCKETS_MAX: usize = 100_000;
/// Most entries of one kind in the engine's cache.
pub const ENGINE_CACHE_ENTRIES_MAX: usize = 20_000;
/// Most of an HTTP refusal that is read for the sentence about it.
pub const HTTP_REFUSAL_BYTES_MAX: usize = 64 * 1024;
/// How long the text of an HTTP refusal is waited for.
pub const HTTP_REFUSAL_MS_MAX: u64 = 5_000;
/// Most characters of a server's text in a sentence of ours.
pub const EXCERPT_CHARS_MAX: usize = 200;
/// How long connecting to a remote server may take.
pub const HTTP_CONNECT_MS_MAX: u64 = 10_000;
/// How long an HTTP connection is kept for the next request.
pub const HTTP_IDLE_MS_MAX: u64 = 90_000;
/// Most HTTP connections to one host that are kept for the next request.
pub const HTTP_IDLE_CONNECTIONS_PER_HOST_MAX: usize = 32;
/// Most redirects, all within one origin, that one request follows.
pub const HTTP_REDIRECTS_MAX: usize = 4;
/// How long the answer to a request may take to begin, unless set for a server. Deadlines of calls are
/// shorter; this one ends what nobody watches.
pub const HTTP_ANSWER_BEGINS_MS_MAX: u64 = 900_000;
/// How long a server may take to accept what wants no answer, or to open a stream.
pub const HTTP_TOLD_MS_MAX: u64 = 30_000;
/// How long messages wait for the notification before them to be accepted.
pub const HTTP_TOLD_WAIT_MS_MAX: u64 = 2_000;
/// How long ending a session may take.
pub const HTTP_SESSION_END_MS_MAX: u64 = 2_000;
/// How long the end of a stream is waited for after its answer.
pub const HTTP_LINGER_MS: u64 = 1_000;
/// How long a stream that ended early is left before it is resumed, unless the server says.
pub const HTTP_RESUME_MS_DEFAULT: u64 = 1_000;
/// Shortest pause before a stream is resumed, whatever the server says.
pub const HTTP_RESUME_MS_MIN: u64 = 50;
/// Longest pause before a stream is resumed, whatever the server says.
pub const HTTP_RESUME_MS_MAX: u64 = 60_000;
/// How often in a row resuming a stream may fail.
pub const HTTP_RESUME_FAILURES_MAX: u32 = 5;
/// Longest `Retry-After` that is believed.
pub const RETRY_AFTER_MS_MAX: u64 = 60 * 60 * 1_000;
/// How often one request is sent again because other credentials came to hand after a refusal.
pub const HTTP_REFUSALS_MAX: u32 = 2;
/// How long before its end a token is renewed.
pub const TOKEN_RENEWED_BEFORE_S: u64 = 60;
/// How long a token is used before the store is asked for it again.
pub const TOKEN_RECHECK_MS: u64 = 5_000;
/// How long a person may take to log in.
pub const LOGIN_MS_MAX: u64 = 5 * 60 * 1_000;
/// Largest head of the request that brings a browser back after a login.
pub const LOGIN_REQUEST_BYTES_MAX: usize = 16 * 1024;
/// Most requests that are looked at while a login waits for its browser.
pub const LOGIN_REQUESTS_MAX: usize = 64;
/// Shortest pause between two questions whether a login on another device is done.
pub const DEVICE_POLL_S_MIN: u64 = 1;
/// Longest pause between two questions whether a login on another device is done.
pub const DEVICE_POLL_S_MAX: u64 = 60;
/// How long one request to an authorization server may take.
pub const AUTHORIZATION_SERVER_MS_MAX: u64 = 30_000;
/// How long the older HTTP transport may take to say where messages go.
pub const SSE_ENDPOINT_MS_MAX: u64 = 30_000;
/// Largest message that is read from an MCP server.
pub const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most messages that wait in each direction of a link to a server.
pub const LINK_MESSAGES_MAX: usize = 64;
/// Most requests under way over one connection to a server.
pub const PEER_REQUESTS_MAX: usize = 256;
/// Most requests of one server that wait for their client.
pub const CLIENT_REQUESTS_MAX: usize = 16;
/// Most lines of a child's standard error that are kept.
pub const STDERR_LINES_MAX: usize = 12;
/// Longest line of a child's standard error that is kept whole.
pub const STDERR_LINE_BYTES_MAX: usize = 500;
/// How long a child may take to end by itself once its input is closed.
pub const CHILD_CLOSE_GRACE_MS: u64 = 500;
/// How long a child may take to end after SIGTERM.
pub const CHILD_TERM_GRACE_MS: u64 = 1_000;
/// How long the rest of an ended child's output is waited for.
pub const CHILD_DRAIN_MS: u64 = 500;
/// How long a server that refuses Streamable HTTP has to answer over the older transport.
pub const SSE_FALLBACK_MS: u64 = 10_000;
/// How long starting a server and the first exchange may take unless configured.
pub const START_TIMEOUT_MS_DEFAULT: u64 = 60_000;
/// How long an unused connection stays open unless configured.
pub const IDLE_CLOSE_MS_DEFAULT: u64 = 5 * 60 * 1_000;
/// How long a connection stays over which only lists were asked while callers have connections of their own.
pub const LISTING_IDLE_MS: u64 = 10_000;
/// How many entries of the registry one page is asked to hold.
pub const REGISTRY_PAGE_ENTRIES: usize = 100;
/// Most pages of one answer of the registry.
pub const REGISTRY_PAGES_MAX: usize = 30;
/// Most entries of one answer of the registry that are kept.
pub const REGISTRY_ENTRIES_MAX: usize = 2_000;
/// Largest page of the registry that is read.
pub const REGISTRY_PAGE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How long one page of the registry may take.
pub const REGISTRY_TIMEOUT_MS: u64 = 20_000;
/// How long a new answer of the registry is waited for where an old one is there.
pub const REGISTRY_STALE_PATIENCE_MS: u64 = 2_000;
/// Most servers of the registry that one discovery asks.
pub const REGISTRY_DISCOVERIES_MAX: usize = 50;
/// Most characters of a description that is taken over from the registry.
pub const REGISTRY_DESCRIPTION_CHARS_MAX: usize = 500;
/// Longest name of a server in the registry.
pub const REGISTRY_NAME_CHARS_MAX: usize = 200;
/// Largest bundle of the registry that is downloaded.
pub const BUNDLE_BYTES_MAX: u64 = 128 * 1024 * 1024;
/// How long downloading a bundle may take.
pub const BUNDLE_TIMEOUT_MS: u64 = 10 * 60 * 1_000;
/// Most redirects on the way to a bundle.
pub const BUNDLE_REDIRECTS_MAX: usize = 5;
/// Most files and directories of one bundle.
pub const BUNDLE_ENTRIES_MAX: usize = 50_000;
/// Most bytes of all files of one bundle, unpacked.
pub const BUNDLE_UNPACKED_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// Longest name of a file in a bundle.
pub const BUNDLE_NAME_BYTES_MAX: usize = 1_024;
/// Largest manifest of a bundle.
pub const BUNDLE_MANIFEST_BYTES_MAX: usize = 1024 * 1024;
/// Most capabilities in one list.
pub const CAPABILITIES_LISTED_MAX: i64 = 100_000;
/// How long an introspected server waits for a person before the question expires.
pub const INTROSPECTION_WAIT_MS: i64 = 7 * 24 * 60 * 60 * 1_000;
/// Longest readable part of the name of a capability file or of its directory.
pub const CAPABILITY_NAME_BYTES_MAX: usize = 100;
/// Most capability files that are read from one directory.
pub const CAPABILITY_FILES_MAX: usize = 50_000;
/// Deepest nesting of a type or of a form in RTFS text.
pub const RTFS_DEPTH_MAX: usize = 64;
/// Most parts of a schema that one type is made from.
pub const RTFS_NODES_MAX: usize = 20_000;
/// Largest RTFS text that is read.
pub const RTFS_TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a server may take to answer `server/discover` before it is asked in the older way too.
pub const ERA_PROBE_MS: u64 = 2_000;
/// Most rounds of questions from a server before it answers one request.
pub const ROUNDS_MAX: usize = 10;
/// Most pages of one list of a server.
pub const LIST_PAGES_MAX: usize = 1_000;
/// Most items of one list of a server.
pub const LIST_ITEMS_MAX: usize = 50_000;
/// How many failures in a row keep a server from being tried for a while.
pub const BREAKER_FAILURES: u32 = 5;
/// How long a server is not tried after so many failures.
pub const BREAKER_OPEN_MS: u64 = 30_000;
/// Most child processes of servers at once.
pub const CHILDREN_MAX: usize = 256;
/// Most connections to servers at once, child processes included.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Most connections to one server at once.
pub const CONNECTIONS_PER_SERVER_MAX: usize = 64;
/// How long a new connection waits for the place of an idle one that is closed for it.
pub const CONNECTION_PLACE_MS: u64 = 3_000;
/// Most events about servers that wait for a slow reader; it is told how many it missed.
pub const SERVER_EVENTS_MAX: usize = 256;
/// How long closing all connections may take.
pub const CONNECTIONS_CLOSE_MS: u64 = 5_000;
/// From this period of a rate limit on, in seconds, processes share what is left of it.
pub const RATE_SHARED_SECONDS_MIN: u32 = 10;
/// The longest wait that a rate limit names.
pub const RATE_WAIT_MS_MAX: u64 = 24 * 60 * 60 * 1_000;
/// Characters of a message, and of a name in it, that a refused caller is told; both may be the caller's own.
pub const TOLD_TEXT_CHARS_MAX: usize = 1_000;
/// Characters of a name that a refused caller is told beside the message.
pub const TOLD_NAME_CHARS_MAX: usize = 256;
/// Most characters of what an upstream says about a failure that a caller sees.
pub const FAULT_TEXT_CHARS_MAX: usize = 500;
/// Deepest nesting of parameters that is outlined.
pub const OUTLINE_DEPTH_MAX: usize = 8;
/// Most parts of one schema that are outlined.
pub const OUTLINE_PARTS_MAX: usize = 4_000;
/// Most alternatives of one value that are outlined.
pub const OUTLINE_ALTERNATIVES_MAX: usize = 12;
/// Largest signature of a tool.
pub const SIGNATURE_TOKENS_MAX: usize = 90;
/// Longest tool name in a signature.
pub const SIGNATURE_NAME_CHARS_MAX: usize = 128;
/// Longest type that is written out.
pub const TYPE_CHARS_MAX: usize = 400;
/// Longest text that is made as an example.
pub const SAMPLE_TEXT_CHARS_MAX: usize = 256;
/// Most items that an example of an array has.
pub const SAMPLE_ITEMS_MAX: usize = 8;
/// Largest example that is shown.
pub const SAMPLE_BYTES_MAX: usize = 8 * 1024;
/// What the details of a tool may cost, unless the verbatim schema is asked for.
pub const DETAILS_TOKENS_MAX: usize = 1_500;
/// What the details of a tool cost once long texts are shortened, where shortening them suffices.
pub const DETAILS_TOKENS_WANTED: usize = 132;
/// Most parameters of one tool that details list.
pub const DETAILS_PARAMETERS_MAX: usize = 400;
/// Largest message that the MCP door reads from a pipe: the same as over HTTP.
pub const DOOR_LINE_BYTES_MAX: usize = DOOR_BODY_BYTES_MAX;
