"""Lays out the queries that the project wrote itself (`written/`) as labelled sets beside the public ones.

Each file is a set of its own: its catalog are all tools of the servers that its queries ask for, taken from the public
corpora, so that none of their text stands here. Usage:
    written.py DATA OUT
"""

import json
import pathlib
import sys

import sources

HERE = pathlib.Path(__file__).parent / "written"


def server_of(tool):
    return tool.get("server_id") or tool["server"]


def main(data, out):
    data, out = pathlib.Path(data).resolve(), pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    for folder in data.iterdir():
        link = out / folder.name
        if not link.exists():
            link.symlink_to(folder)
    corpora = {name: sources.tools(data, name) for name in sources.CORPORA}
    servers = {(name, t["id"]): (name, server_of(t)) for name, tools in corpora.items() for t in tools}
    for path in sorted(HERE.glob("*.jsonl")):
        queries = sources.rows(path)
        wanted = {servers[tuple(gold.split("/", 1))] for q in queries for gold in q["gold"]}
        folder = out / path.stem
        folder.mkdir(exist_ok=True)
        with open(folder / "tools.jsonl", "w", encoding="utf-8") as lines:
            for name, tools in corpora.items():
                for tool in tools:
                    if (name, server_of(tool)) in wanted:
                        lines.write(json.dumps(tool | {"id": f"{name}/{tool['id']}"}, ensure_ascii=False) + "\n")
        with open(folder / "queries.jsonl", "w", encoding="utf-8") as lines:
            for query in queries:
                lines.write(json.dumps(query, ensure_ascii=False) + "\n")
        print(path.stem, len(queries), "queries over", len(wanted), "servers")


if __name__ == "__main__":
    main(*sys.argv[1:])
