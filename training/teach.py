"""Runs the teacher over every text that may be trained on and keeps the vectors in a scratch folder."""

import pathlib
import sys

import numpy as np

import sources
from minilm import MiniLm


def main(data, model, scratch):
    scratch = pathlib.Path(scratch)
    scratch.mkdir(parents=True, exist_ok=True)
    teacher = MiniLm(model)
    report = lambda done, total: print(f"{done}/{total}", file=sys.stderr, flush=True)
    queries = []
    for name in sources.QUERY_SETS:
        queries += [q["query"] for q in sources.dev_queries(data, name)]
    queries = sorted(set(queries))
    (scratch / "queries.txt").write_text("\n".join(q.replace("\n", " ") for q in queries))
    np.save(scratch / "queries.npy", teacher.encode(queries, 64, 64, report).astype(np.float16))
    texts = []
    for name in sources.QUERY_SETS + sources.CORPORA:
        texts += [sources.tool_text(t) for t in sources.tools(data, name)]
    texts = sorted(set(t.replace("\n", " ")[:1500] for t in texts))
    (scratch / "texts.txt").write_text("\n".join(texts))
    np.save(scratch / "texts.npy", teacher.encode(texts, 96, 32, report).astype(np.float16))


if __name__ == "__main__":
    main(*sys.argv[1:])
