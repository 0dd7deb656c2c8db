"""Trains the static vectors: one per word piece, so that sums over the words of a wish and of its tool point the same way.

Starts from the teacher's vectors of the single pieces, then learns from (dev query, right tool) pairs, from (name,
description) of every tool, and from the teacher's own similarities. Usage:
    vectors.py DATA MODEL SCRATCH OUT [--without FAMILY,FAMILY]
    vectors.py mean OUT TABLE TABLE…
"""

import collections
import json
import pathlib
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np

import sources
from minilm import MiniLm

DIMENSIONS = 128
WORDS_QUERY, WORDS_NAME, WORDS_TEXT, WORDS_PARAMETERS = 48, 16, 64, 64
PIECES_PER_WORD = 4
STEPS, BATCH = 1500, 384
SEED = 11


def pieces_of(word, vocabulary, cache):
    """Greedy longest match, as BERT's word pieces; an unknown rest is dropped."""
    if word not in cache:
        out, start = [], 0
        while start < len(word) and len(out) < PIECES_PER_WORD:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in vocabulary:
                    out.append(vocabulary[piece])
                    start = end
                    break
            else:
                break
        cache[word] = out
    return cache[word]


class Corpus:
    def __init__(self, data, scratch, vocabulary, without):
        scratch = pathlib.Path(scratch)
        self.cache, self.vocabulary = {}, vocabulary
        texts = sorted({sources.tool_text(t).replace("\n", " ")[:1500]
                        for name in sources.QUERY_SETS + sources.CORPORA for t in sources.tools(data, name)})
        text_at = {t: i for i, t in enumerate(texts)}
        queries = sorted({q["query"] for name in sources.QUERY_SETS for q in sources.dev_queries(data, name)})
        query_at = {q: i for i, q in enumerate(queries)}
        self.text_vectors, self.query_vectors = np.load(scratch / "texts.npy"), np.load(scratch / "queries.npy")
        raw_tools = {n: {t["id"]: t for t in sources.tools(data, n)} for n in sources.QUERY_SETS + sources.CORPORA}
        raw_queries = {n: {q["id"]: q for q in sources.dev_queries(data, n)} for n in sources.QUERY_SETS}
        self.tools, self.tool_teacher, at = [], [], {}
        seen = {}
        self.pairs = collections.defaultdict(list)
        rows = [json.loads(line) for line in open(scratch / "words.jsonl")]
        for r in rows:
            if "tool" not in r:
                continue
            text = sources.tool_text(raw_tools[r["set"]][r["tool"]]).replace("\n", " ")[:1500]
            if text not in seen:
                seen[text] = len(self.tools)
                self.tools.append((self.ids(r["name"] + r["server"], WORDS_NAME), self.ids(r["text"], WORDS_TEXT),
                                   self.ids(r["parameters"], WORDS_PARAMETERS)))
                self.tool_teacher.append(text_at[text])
            at[r["set"], r["tool"]] = seen[text]
        for r in rows:
            family = r["set"].split("-")[0]
            if "query" not in r or family in without:
                continue
            q = self.ids(r["words"], WORDS_QUERY)
            if not q:
                continue
            teacher = query_at[raw_queries[r["set"]][r["query"]]["query"]]
            for gold in r["gold"]:
                if (r["set"], gold) in at:
                    self.pairs[family].append((q, teacher, at[r["set"], gold]))
        print({f: len(p) for f, p in self.pairs.items()}, len(self.tools), "tools", flush=True)

    def ids(self, words, most):
        out = []
        for w in words:
            out += pieces_of(w, self.vocabulary, self.cache)
        return out[:most]


def pad(lists, length):
    out = np.zeros((len(lists), length), np.int32)
    for k, ids in enumerate(lists):
        out[k, :len(ids)] = [i + 1 for i in ids]
    return out


def total(table, ids):
    """Sum of the vectors; number 0 is padding. Repeated pieces count once more, but less."""
    return (table[jnp.maximum(ids - 1, 0)] * (ids > 0)[:, :, None]).sum(1)


def unit(x):
    return x / jnp.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def tool_vector(p, name, text, parameters):
    w = jax.nn.softplus(p["fields"])
    parts = [(name, w[0]), (text, w[1]), (parameters, w[2])]
    return unit(sum(weight * total(p["table"], ids) / jnp.sqrt((ids > 0).sum(1, keepdims=True) + 1.0)
                    for ids, weight in parts))


def loss(p, q, tools, teacher_q, teacher_d, same):
    a, d = unit(total(p["table"], q)), tool_vector(p, *tools)
    s = a @ d.T
    logits = s / 0.05
    logits = jnp.where(same, -1e9, logits)
    diagonal = jnp.arange(len(q))
    contrast = -(jax.nn.log_softmax(logits, 1)[diagonal, diagonal] + jax.nn.log_softmax(logits, 0)[diagonal, diagonal]).mean()
    teacher = jax.nn.softmax(teacher_q @ teacher_d.T / 0.05, 1)
    follow = -(teacher * jax.nn.log_softmax(s / 0.05, 1)).sum(1).mean()
    return contrast + follow


def train(corpus, start):
    rng = np.random.default_rng(SEED)
    p = {"table": jnp.asarray(start), "fields": jnp.asarray([1.0, 1.0, 0.0])}
    grad = jax.jit(jax.value_and_grad(loss))
    m = jax.tree.map(jnp.zeros_like, p)
    v = jax.tree.map(jnp.zeros_like, p)

    @jax.jit
    def step(p, m, v, t, rate, *batch):
        value, g = grad(p, *batch)
        m = jax.tree.map(lambda a, b: 0.9 * a + 0.1 * b, m, g)
        v = jax.tree.map(lambda a, b: 0.999 * a + 0.001 * b * b, v, g)
        p = jax.tree.map(lambda x, a, b: x - rate * (a / (1 - 0.9 ** t)) / (jnp.sqrt(b / (1 - 0.999 ** t)) + 1e-8), p, m, v)
        return p, m, v, value

    families = sorted(corpus.pairs)
    share = np.array([len(corpus.pairs[f]) ** 0.5 for f in families])
    share /= share.sum()
    teacher_texts = corpus.text_vectors
    for t in range(1, STEPS + 1):
        kind = rng.random()
        if kind < 0.55 and families:
            if kind < 0.3:
                pool = corpus.pairs[families[rng.choice(len(families), p=share)]]
                picked = [pool[k] for k in rng.integers(0, len(pool), BATCH)]
            else:
                picked = []
                for f, n in zip(families, rng.multinomial(BATCH, share)):
                    picked += [corpus.pairs[f][k] for k in rng.integers(0, len(corpus.pairs[f]), n)]
            q = pad([x[0] for x in picked], WORDS_QUERY)
            tq = corpus.query_vectors[[x[1] for x in picked]].astype(np.float32)
            at = [x[2] for x in picked]
            tools = [corpus.tools[k] for k in at]
        else:
            # A tool's name, or a stretch of its description, asks for the rest of it.
            at, tools, asks = [], [], []
            for k in rng.integers(0, len(corpus.tools), BATCH):
                name, text, parameters = corpus.tools[k]
                cut = min(len(text) // 2, 12)
                if rng.random() < 0.5 and text:
                    asks.append(name[:WORDS_QUERY]); tools.append(([], text, parameters))
                else:
                    asks.append(text[:cut] or name); tools.append((name, text[cut:], parameters))
                at.append(k)
            q = pad(asks, WORDS_QUERY)
            tq = teacher_texts[[corpus.tool_teacher[k] for k in at]].astype(np.float32)
        td = teacher_texts[[corpus.tool_teacher[k] for k in at]].astype(np.float32)
        at = np.array(at)
        same = (at[:, None] == at[None, :]) & ~np.eye(len(at), dtype=bool)
        batch = (q, (pad([x[0] for x in tools], WORDS_NAME), pad([x[1] for x in tools], WORDS_TEXT),
                     pad([x[2] for x in tools], WORDS_PARAMETERS)), tq, td, same)
        rate = 0.003 * min(1, t / 100) * (1 - t / (STEPS + 1))
        p, m, v, value = step(p, m, v, t, rate, *batch)
        if t % 100 == 0:
            print(t, float(value), np.asarray(jax.nn.softplus(p["fields"])), flush=True)
    return p


def write(path, tokens, table, fields):
    """Pieces, one scale for all, field weights, then a byte per dimension."""
    scale = np.abs(table).max() / 127
    packed = np.clip(np.round(table / scale), -127, 127).astype(np.int8)
    names = "\n".join(tokens).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<4sIII4f", b"TCV1", len(tokens), table.shape[1], len(names), float(scale), *map(float, fields)))
        out.write(names)
        out.write(packed.tobytes())


def read(path):
    """What `write` wrote: pieces, vectors, field weights."""
    bytes_, head = pathlib.Path(path).read_bytes(), "<4sIII4f"
    _, count, width, names, scale, *fields = struct.unpack_from(head, bytes_)
    at = struct.calcsize(head)
    table = np.frombuffer(bytes_, np.int8, count * width, at + names).reshape(count, width)
    return bytes_[at:at + names].decode().split("\n"), table.astype(np.float32) * scale, np.array(fields)


def mean(out, *paths):
    """The mean of tables that began alike: it carries over to unseen sets better than each of them."""
    tables = [read(path) for path in paths]
    tokens = tables[0][0]
    assert all(t[0] == tokens for t in tables), "these tables were not made from the same words"
    write(out, tokens, np.mean([t[1] for t in tables], 0), np.mean([t[2] for t in tables], 0))


def main(data, model, scratch, out, *rest):
    without = set(rest[1].split(",")) if rest else set()
    teacher = MiniLm(model)
    counts = collections.Counter()
    plain = {t: i for t, i in teacher.vocabulary.items() if t.removeprefix("##").isascii() and t.removeprefix("##").isalnum()}
    cache = {}
    names = {i: t for t, i in plain.items()}
    for line in open(pathlib.Path(scratch) / "words.jsonl"):
        r = json.loads(line)
        for field in ("name", "server", "text", "parameters", "words"):
            for w in r.get(field, ()):
                counts.update(pieces_of(w, plain, cache))
    # Every single character stays, so that any Latin word can be spelt.
    tokens = sorted(t for t, i in plain.items() if counts[i] >= 1 or len(t.removeprefix("##")) == 1 or not t.startswith("##"))
    vocabulary = {t: k for k, t in enumerate(tokens)}
    start_path = pathlib.Path(scratch) / "start.npy"
    if not start_path.exists():
        np.save(start_path, teacher.encode([t.removeprefix("##") for t in tokens], 16, 256))
    start = np.load(start_path)
    start = start - start.mean(0)
    _, _, axes = np.linalg.svd(start[::7], full_matrices=False)
    start = start @ axes[:DIMENSIONS].T
    # Frequent pieces say less.
    seen = np.array([counts[plain[t]] for t in tokens], np.float64)
    start *= (1e-3 / (1e-3 + seen / seen.sum()))[:, None]
    corpus = Corpus(data, scratch, vocabulary, without)
    p = train(corpus, start.astype(np.float32))
    write(out, tokens, np.asarray(p["table"]), np.asarray(jax.nn.softplus(p["fields"])))


if __name__ == "__main__":
    if sys.argv[1] == "mean":
        mean(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
