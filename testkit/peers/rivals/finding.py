"""How well the tool search of fastmcp finds, on the test halves of the retrieval sets: prints JSON.

Usage: finding.py DIRECTORY-OF-SETS
"""

import hashlib
import json
import math
import pathlib
import sys

from fastmcp.server.transforms.search import base, bm25


class Tool:
    """What the search reads of a tool."""

    def __init__(self, entry):
        self.name = entry["name"]
        self.description = entry.get("description") or ""
        schema = entry.get("input_schema")
        self.parameters = schema if isinstance(schema, dict) else {}


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def score(folder, wanted):
    entries = lines(folder / "tools.jsonl")
    ids = [entry["id"] for entry in entries]
    index = bm25._BM25Index()
    index.build([base._extract_searchable_text(Tool(entry)) for entry in entries])
    ndcg = hits = count = 0
    for query in lines(folder / "queries.jsonl"):
        even = int(hashlib.md5(query["id"].encode()).hexdigest(), 16) % 2 == 0
        if query["id"] not in wanted or even or not query["gold"]:
            continue
        found = [ids[at] for at in index.query(query["query"], 10)]
        gold = set(query["gold"])
        gain = sum(1 / math.log2(at + 2) for at, id in enumerate(found) if id in gold)
        best = sum(1 / math.log2(at + 2) for at in range(min(10, len(gold))))
        ndcg += gain / best
        hits += bool(found) and found[0] in gold
        count += 1
    return {"ndcg_10": ndcg / count, "hit_1": hits / count, "queries": count}


def main():
    place = pathlib.Path(sys.argv[1])
    wanted = json.loads((place / "baseline-queries.json").read_text())
    sets = {name: score(place / name, set(ids)) for name, ids in wanted.items()}
    mean = {
        field: sum(row[field] for row in sets.values()) / len(sets)
        for field in ("ndcg_10", "hit_1")
    }
    print(json.dumps({"sets": sets, "mean": mean}))


main()
