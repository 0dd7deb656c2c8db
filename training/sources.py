"""What may be trained on: the tools of the permissively licensed sets, and the dev half of their queries."""

import hashlib
import json
import pathlib

QUERY_SETS = ["metatool-single", "metatool-multi", "sealtools-test", "sealtools-dev", "bfcl-live", "bfcl-nonlive",
              "nestful", "apibank", "stabletoolbench-g1", "stabletoolbench-g2", "stabletoolbench-g3", "toolalpaca",
              "writtena-1", "writtena-2", "writtenb-1", "writtenb-2"]
CORPORA = ["corpus-toucan", "corpus-mcpzero", "corpus-docker", "corpus-github-mcp"]


def is_dev(query_id):
    return int(hashlib.md5(query_id.encode()).hexdigest(), 16) % 2 == 0


def rows(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def tools(data, name):
    return rows(pathlib.Path(data) / name / "tools.jsonl")


def dev_queries(data, name):
    return [q for q in rows(pathlib.Path(data) / name / "queries.jsonl") if is_dev(q["id"])]


def tool_text(tool):
    """Name, description and parameters as one plain text."""
    schema = tool.get("input_schema") or {}
    properties = schema.get("properties") if isinstance(schema, dict) else None
    parts = [tool.get("server") or "", tool["name"].replace("_", " "), tool.get("description") or ""]
    for name, value in (properties or {}).items():
        text = value.get("description") if isinstance(value, dict) else ""
        parts.append(f"{name.replace('_', ' ')}: {text or ''}")
    return " . ".join(p.strip() for p in parts if p and p.strip())
