//! Bounds of the doors and of what they hand out.

/// Largest body that the HTTP door reads.
pub const DOOR_BODY_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most bytes of messages that a door holds at once: the HTTP door over all connections, and the one on a pipe.
pub const DOOR_BODIES_BYTES_MAX: usize = 16 * DOOR_BODY_BYTES_MAX;
/// Most messages in one batch.
pub const DOOR_BATCH_MESSAGES_MAX: usize = 100;
/// Most requests that the doors answer at once; calls of tools have a bound of their own below it.
pub const DOOR_REQUESTS_IN_FLIGHT_MAX: usize = 4_096;
/// Requests of any kind that one principal may make each second. All programs of a machine that come without a
/// key are one principal, so it lies above what a crowd of them needs: one that floods must not shut out the rest.
pub const DOOR_REQUESTS_PER_SECOND: u32 = 20_000;
/// Requests of any kind that one principal may make at once after a pause.
pub const DOOR_REQUESTS_BURST: u32 = 40_000;
/// Most principals whose requests are counted at once.
pub const DOOR_BUCKETS_MAX: usize = 10_000;
/// Most streams of change notifications that are open at once.
pub const DOOR_LISTENERS_MAX: usize = 4_096;
/// Longest that one request may be answered, whatever it is; tools have shorter bounds of their own.
pub const DOOR_REQUEST_MS_MAX: u64 = super::CALL_TIMEOUT_MS_MAX + 60_000;
/// How long a cancelled request may take to notice.
pub const DOOR_CANCEL_GRACE_MS: u64 = 2_000;
/// How long a client may take to answer a question.
pub const DOOR_QUESTION_MS_MAX: u64 = 10 * 60 * 1_000;
/// Most questions to clients that wait in one session.
pub const DOOR_QUESTIONS_MAX: usize = 64;
/// Most rounds of questions that one request may take.
pub const DOOR_ROUNDS_MAX: usize = 16;
/// Most requests that wait for the answers of stateless clients.
pub const DOOR_PARKED_MAX: usize = 1_024;
/// Most resources that one session subscribes to.
pub const DOOR_SUBSCRIPTIONS_MAX: usize = 1_000;
/// How long clients may keep a list before they ask again.
pub const LIST_TTL_MS: u64 = 60_000;
/// Most messages of one stream that are kept for a client that does not keep up or comes back.
pub const STREAM_FRAMES_MAX: usize = 1_024;
/// Most bytes of one stream that are kept for a client that does not keep up or comes back.
pub const STREAM_BYTES_MAX: usize = 20 * 1024 * 1024;
/// Most streams of one session that can be picked up again.
pub const STREAMS_RESUMABLE_MAX: usize = 64;
/// Most bytes of the streams of one session that can be picked up again.
pub const STREAMS_RESUMABLE_BYTES_MAX: usize = 20 * 1024 * 1024;
/// Most messages that wait to be written to a pipe.
pub const STDIO_QUEUE_MAX: usize = 1_024;
/// How long what is under way may go on once a pipe's input has ended.
pub const STDIO_DRAIN_MS: u64 = 10_000;
/// How long a client whose input has ended may read nothing before it is given up.
pub const STDIO_STALL_MS: u64 = 5_000;
/// How long an unused HTTP session is kept.
pub const SESSION_IDLE_MS: u64 = 30 * 60 * 1_000;
/// Most bytes of the headers of one HTTP request.
pub const HTTP_HEADERS_BYTES_MAX: usize = 64 * 1024;
/// Most headers of one HTTP request.
pub const HTTP_HEADERS_MAX: usize = 100;
/// Most connections to the HTTP door at once.
pub const HTTP_CONNECTIONS_MAX: usize = 4_096;
/// Most requests at once on one connection of HTTP/2.
pub const HTTP_STREAMS_MAX: u32 = 128;
/// How often a silent connection of HTTP/2 is asked whether anybody is there.
pub const HTTP_PING_MS: u64 = 30_000;
/// How long a client may take to send the headers of a request.
pub const HTTP_HEADERS_MS_MAX: u64 = 10_000;
/// How long a client may take to send the body of a request.
pub const HTTP_BODY_MS_MAX: u64 = 30_000;
/// How long a client may read nothing of what waits to be written to it.
pub const HTTP_STALL_MS: u64 = 60_000;
/// How long a browser may go by what it was told about a page of another origin.
pub const HTTP_PREFLIGHT_SECONDS: u32 = 600;
/// How often an open stream says that it is alive.
pub const HTTP_KEEP_ALIVE_MS: u64 = 15_000;
/// Longest bearer token that is looked at.
pub const BEARER_BYTES_MAX: usize = 16 * 1024;
/// Largest set of public keys of an issuer of tokens.
pub const JWKS_BYTES_MAX: usize = 512 * 1024;
/// How long the public keys of an issuer are kept.
pub const JWKS_TTL_MS: u64 = 60 * 60 * 1_000;
/// How soon the public keys of an issuer may be fetched again for a key that is not among them.
pub const JWKS_REFETCH_MS: u64 = 30_000;
/// How soon the public keys of an issuer may be fetched again when that failed.
pub const JWKS_RETRY_MS: u64 = 5_000;
/// How long fetching the public keys of an issuer may take.
pub const JWKS_TIMEOUT_MS: u64 = 10_000;
/// Most subjects that the line about the catalog names.
pub const DIGEST_DOMAINS_MAX: usize = 10;
/// What the line about the catalog may cost.
pub const DIGEST_TOKENS_MAX: usize = 40;
/// What a search answer with the default limit costs where that leaves enough hits, unless it is unsure.
pub const SEARCH_TOKENS_WANTED: usize = 198;
/// What a search answer with the default limit may cost.
pub const SEARCH_TOKENS_MAX: usize = 450;
/// How many hits a search answer keeps even where they cost more than is wanted.
pub const SEARCH_HITS_LEAST: usize = 3;
/// Most hits that carry a signature.
pub const SEARCH_SIGNATURES_MAX: usize = 3;
/// Relevance of the first hit from which on an answer is sure enough to be short, and below which hardly
/// anything fits and more hits would not help. Between the two, more of them are told.
pub const SEARCH_UNSURE: std::ops::Range<f32> = 0.25..0.7;
/// What one page of a list may cost.
pub const LIST_TOKENS_MAX: usize = 1_000;
/// Most signs of deceit in definitions of tools that one check of a configuration tells.
pub const SUSPECTS_MAX: usize = 100;
/// Shortest secret that is taken out of texts by its very letters; a shorter one could be any word.
pub const VEIL_SECRET_BYTES_MIN: usize = 8;
/// Most secrets that are taken out of texts by their very letters.
pub const VEIL_SECRETS_MAX: usize = 10_000;
/// Longest filter over a result.
pub const SELECT_FILTER_BYTES_MAX: usize = 4 * 1024;
/// Most bytes that a filter may make of a result.
pub const SELECT_OUTPUT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// How long a filter may take, starting included.
pub const SELECT_MS_MAX: u64 = 5_000;
/// How much processor time a filter may use.
pub const SELECT_CPU_SECONDS_MAX: u64 = 2;
/// Most address space of the process that filters, its own program included.
pub const SELECT_MEMORY_BYTES_MAX: u64 = 768 * 1024 * 1024;
/// Most filters that run at once.
pub const SELECTS_MAX: usize = 8;
/// How many units of a large result fit on a page, at least.
pub const PAGE_UNITS_LEAST: usize = 4;
/// Most tools on one page of a list in full mode.
pub const FULL_PAGE_TOOLS: usize = 200;
/// How long a list in full mode waits for servers that have not said yet what they have.
pub const FULL_WAIT_MS: u64 = 5_000;
/// Most tools that are pinned beside the five.
pub const PINNED_TOOLS_MAX: usize = 64;
/// How long the list of tools waits for the server of a pinned one that has not said yet what it has.
pub const PINNED_WAIT_MS: u64 = 5_000;
/// Most habits that are kept for one principal.
pub const LEARNED_HABITS_MAX: usize = 256;
/// Most principals whose habits are kept.
pub const LEARNED_PRINCIPALS_MAX: usize = 512;
/// Most searches that are remembered for the calls which may follow them, of all principals.
pub const LEARNED_SEARCHES_MAX: usize = 512;
/// How long after a search a call counts as following it: ten minutes.
pub const LEARNED_AFTER_MS: i64 = 600_000;
/// Most words of a query that a habit keeps.
pub const LEARNED_WORDS_MAX: usize = 24;
/// After so many seconds without use a habit counts half: 30 days.
pub const LEARNED_HALF_LIFE_SECONDS: u32 = 2_592_000;
/// What an answer of `gateway.intent` may cost.
pub const INTENT_TOKENS_MAX: usize = 1_500;
/// Largest example that an answer of `gateway.intent` holds.
pub const INTENT_EXAMPLE_BYTES_MAX: usize = 2_048;
/// Most alternatives that `gateway.intent` gives.
pub const INTENT_LIMIT_MAX: usize = 50;
/// What a page of `gateway.tools` costs at most where its length was asked for.
pub const TOOLS_ASKED_TOKENS_MAX: usize = 3_000;
/// Most examples and failures that a reference holds.
pub const REFERENCE_ITEMS_MAX: usize = 3;
/// Largest answer that a reference shows as an example.
pub const REFERENCE_RESPONSE_BYTES_MAX: usize = 600;
/// Largest file of a registry of operations that is read.
pub const REGISTRY_FILE_BYTES_MAX: u64 = 256 * 1024 * 1024;
