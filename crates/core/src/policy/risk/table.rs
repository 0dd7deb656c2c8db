//! The one table of words that names are read with.

use std::collections::HashMap;
use std::sync::LazyLock;

/// What a verb does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// Looks, and leaves everything as it was.
    Read,
    /// Looks or computes; behind a writing HTTP method it may also record something.
    Probe,
    /// Changes something in the ordinary way.
    Write,
    /// Reaches people, money or permissions, or runs what it is given.
    Act,
    /// Deletes or ends something for good.
    Destroy,
}

/// How surely a word is a verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    /// Always a verb in names: `delete`, `fetch`.
    Plain,
    /// A verb where it leads, else perhaps a noun: `list`, `post`.
    Either,
    /// A noun unless nothing else in the name is a verb: `transfer`, `message`.
    Noun,
}

const VERB_TABLE: &[(Class, Grade, &str)] = &[
    (
        Class::Read,
        Grade::Plain,
        "ask browse calculate can compare compute count dbsize describe determine discover \
         display download enumerate estimate exists explain explore fetch find get grep has head \
         hexists hget hgetall identify inspect is llen lookup lrange obtain peek read recommend \
         resolve retrieve show smembers stat suggest summarize tail wait whoami xrange zrange",
    ),
    (
        Class::Read,
        Grade::Either,
        "aggregate autocomplete echo filter geocode list lst match ping poll preview query rank \
         rerank scan search typeahead view",
    ),
    (
        Class::Probe,
        Grade::Plain,
        "analyse analyze classify decode detect diagnose embed encode extract infer lint measure \
         parse render simulate synthesize tokenize transcribe translate troubleshoot validate \
         verify",
    ),
    (
        Class::Probe,
        Grade::Either,
        "audit check crawl debug diff export monitor research scrape screenshot snapshot trace \
         track",
    ),
    (
        Class::Write,
        Grade::Plain,
        "accept ack acknowledge activate add adjust allocate append apply approve archive assign \
         associate attach authenticate autofix begin bind boot categorize change checkout click \
         clone commit complete compress configure confirm connect consume convert create \
         customize deactivate decline decrement deny detach disable disassociate disconnect \
         dismiss downgrade drag duplicate edit emulate enable expand extend fill finalize finish \
         fix follow generate gzip hover hset import increment ingest init initialize initiate \
         insert instantiate interact join launch leave login logout lpop lpush memorize merge \
         modify move mutate mute navigate normalize pack patch pause pin prepend press protect \
         psubscribe pull push put reassign rebase rebuild recycle refresh regenerate register \
         reindex reject remember rename renew reopen reorder replace resize restore restrict \
         resume rpop rpush sadd save scroll select setup simplify snooze stash store submit \
         subscribe swipe sync synchronize tap toggle transform transition type unapprove \
         unarchive unassign unbind unfollow unlink unlock unmerge unmute unpin unprotect \
         unregister unset unstar unsubscribe unzip update upgrade upload upsert write xack xadd \
         xreadgroup zadd zip",
    ),
    (
        Class::Write,
        Grade::Either,
        "answer backup build capture clean close copy design draft fork format handle highlight \
         like lock mark mount open perform play post print process rerun reserve retry reverse \
         set sort split star start stop switch train use watch",
    ),
    (
        Class::Write,
        Grade::Noun,
        "book cache comment group index label link log plan queue rate record report request \
         review schedule tag test vote",
    ),
    (
        Class::Act,
        Grade::Plain,
        "administer announce authorise authorize ban broadcast buy crosspost disburse dispatch \
         donate elevate escalate eval evaluate exec execute exercise expel forward grant hangup \
         impersonate install invoke kick manage migrate notify publish purchase reauthorize \
         reboot redeem reply reset respond restart rollback rotate run sell send share shutdown \
         suspend trigger tweet unban unpublish unshare withdraw",
    ),
    (
        Class::Act,
        Grade::Noun,
        "bid block call charge deploy deposit dial fund invite pay place promote refund release \
         swap topup trade transfer",
    ),
    (
        Class::Destroy,
        Grade::Plain,
        "abort cancel clear deauthorize decommission del delete deprovision destroy discard drop \
         erase expire flush hdel invalidate kill liquidate lrem nuke obliterate overwrite prune \
         purge redact remove revoke rm rmdir srem terminate truncate uninstall void wipe xdel \
         zrem",
    ),
    (Class::Destroy, Grade::Either, "empty trash"),
];

static VERBS: LazyLock<HashMap<&'static str, Verb>> = LazyLock::new(|| {
    let rows = VERB_TABLE.iter();
    rows.flat_map(|&(class, grade, words)| {
        words
            .split_whitespace()
            .map(move |word| (word, Verb { word, class, grade }))
    })
    .collect()
});

/// A word of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Verb {
    /// The word as the table has it.
    pub(super) word: &'static str,
    /// What it does.
    pub(super) class: Class,
    /// How surely it is a verb.
    pub(super) grade: Grade,
}

impl Verb {
    /// Looks a lower-case word up.
    pub(super) fn find(word: &str) -> Option<Self> {
        VERBS.get(word).copied()
    }

    /// Looks up the verb of a sentence's first word: `Deletes` as well as `Delete`.
    pub(super) fn find_inflected(word: &str) -> Option<Self> {
        let word = word.to_ascii_lowercase();
        Self::find(&word)
            .or_else(|| Self::find(word.strip_suffix('s')?))
            .or_else(|| Self::find(word.strip_suffix("es")?))
            .or_else(|| Self::find(&format!("{}y", word.strip_suffix("ies")?)))
            .or_else(|| REPORTING.find(&word).and_then(|_| Self::find("get")))
    }
}

/// A list of words or pairs of words, separated by commas.
#[derive(Clone, Copy)]
pub(super) struct Words(&'static str);

impl Words {
    /// The entry that equals `word`.
    pub(super) fn find(self, word: &str) -> Option<&'static str> {
        self.0.split(", ").find(|entry| *entry == word)
    }

    /// Whether an entry equals `word`.
    pub(super) fn has(self, word: &str) -> bool {
        self.find(word).is_some()
    }
}

/// Objects that make an ordinary write one with consequences: money, permissions, credentials.
/// Singular; two words stand for the last two words of an object.
pub(super) const SENSITIVE: Words = Words(
    "access, access control, access key, access policy, access token, acl, admin, admin key, \
     allowlist, api key, api token, auth key, auth token, balance transaction, bucket policy, \
     capture, certificate, certificate authority, charge, collaboration, collaborator, \
     credential, debit, disbursement, ephemeral key, firewall, firewall rule, grant, iam policy, \
     invitation, invite, ip policy, ip restriction, member, membership, mfa, owner, ownership, \
     password, payment, payment intent, payout, permission, position, privilege, refresh token, \
     refund, reversal, role, role assignment, role binding, saml, secret, security group, \
     service account, shared link, spend limit, ssh key, sso, tfa, topup, trade, traffic policy, \
     transfer, visibility, whitelist, withdrawal",
);

/// Objects that a [`GRANTING`] verb gives access to something.
pub(super) const GRANTEES: Words = Words("group, people, user");

/// Verbs that give access when done to one of [`GRANTEES`].
pub(super) const GRANTING: Words = Words("add, assign");

/// Objects that reach people when they are made.
pub(super) const MESSAGES: Words =
    Words("announcement, broadcast, call, email, fax, mail, message, notification, sms, tweet");

/// Verbs that make one of [`MESSAGES`].
pub(super) const MESSAGING: Words = Words("add, create, post, push, schedule, submit");

/// What can be stopped or cleared without losing anything that was kept.
pub(super) const TRANSIENT: Words = Words(
    "action, batch, build, console, crawl, download, execution, export, filter, highlight, \
     import, job, operation, process, query, request, response, run, scan, search, selection, \
     status, task, timer, upload, workflow",
);

/// Verbs that decide a name which ends with them, even after a noun that may be a verb:
/// `view_update`.
pub(super) const CHANGING: Words = Words("add, create, delete, edit, modify, remove, set, update");

/// Verbs that ask a question, wherever they stand.
pub(super) const ASKING: Words = Words("count, get, list, lookup, query, resolve, search");

/// Verbs that end what is under way; harmless when that is [`TRANSIENT`].
pub(super) const STOPPING: Words = Words("abort, cancel, clear, discard");

/// Words before a verb that say how, not what.
pub(super) const MANNERS: Words = Words("async, auto, batch, bulk, force, mass, multi, take");

/// Those of them that mean many things at once.
pub(super) const MANY: Words = Words("all, batch, bulk, mass");

/// Words before a verb that name a place, not an act.
pub(super) const NAMESPACES: Words = Words("api, mcp, misc, rest, tool, tools");

/// Things that names put before a verb, none of which is a verb itself: `client_list`.
pub(super) const THINGS: Words = Words(
    "account, board, browser, bucket, calendar, channel, client, cluster, collection, config, \
     container, content, customer, database, directory, event, folder, health, instance, issue, \
     job, network, node, product, project, repository, resource, server, service, session, \
     subscription, system, team, ticket, user, workflow, workspace",
);

/// What is changed by resolving it; anything else is looked up.
pub(super) const SETTLED: Words = Words(
    "alert, comment, conflict, conversation, discussion, dispute, incident, issue, review, task, \
     thread, ticket",
);

/// Words after which an object ends.
pub(super) const PREPOSITIONS: Words =
    Words("and, as, at, by, for, from, if, in, into, of, on, or, to, using, via, when, with");

/// Words at the end of a name that are not its object.
pub(super) const TRAILERS: Words = Words("gid, id, ids, name, sid, uuid, v1, v2, v3");

/// What a query in one of these can do is not known from its name.
pub(super) const LANGUAGES: Words = Words("cypher, database, db, graphql, mutation, sparql, sql");

/// Words that say, at the beginning of a description, that a tool reads; in names they may say
/// anything.
pub(super) const REPORTING: Words =
    Words("load, loads, obtain, obtains, provide, provides, return, returns, view, views");

/// Words that a description may begin with before it says what the tool does.
pub(super) const PREAMBLES: Words = Words(
    "a, action, allow, allows, an, api, be, can, command, endpoint, for, function, helper, is, \
     it, lets, method, operation, purpose, take, that, the, this, to, tool, use, used, user, \
     users, utility, will, you, your",
);
