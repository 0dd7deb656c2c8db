"""An agent's errand with the official Python client: what a file says goes into the knowledge graph.

Usage: flow.py ERA FILE NAME URL | flow.py ERA FILE NAME PROGRAM [ARGUMENT]...

Knows no tool but the five. Prints one JSON object a line: the definitions, then each call and its answer.
"""

import asyncio
import json
import sys

from mcp import Client, StdioServerParameters


def tell(value):
    print(json.dumps(value), flush=True)


async def call(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    heard = result.content[0].text
    tell({"said": {"name": tool, "arguments": arguments}, "heard": heard})
    if result.is_error:
        raise SystemExit(f"{tool} failed: {heard}")
    return json.loads(heard)


async def find(client, query):
    found = await call(client, "search_tools", {"query": query})
    best = found["results"][0]
    chosen = {"server": best["server"], "tool": best["tool"]}
    details = await call(client, "get_tool_details", chosen)
    return chosen, [parameter["name"] for parameter in details["parameters"] if parameter.get("required")]


async def main():
    era, file, name, *server = sys.argv[1:]
    if server[0].startswith("http://"):
        target = server[0]
    else:
        target = StdioServerParameters(command=server[0], args=server[1:])
    mode = "2026-07-28" if era == "modern" else era
    async with Client(target, mode=mode) as client:
        listed = await client.list_tools()
        tools = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in listed.tools]
        tell({"tools": tools})
        read, (path,) = await find(client, "read the text of a file")
        answer = await call(client, "execute_tool", {**read, "arguments": {path: file}})
        text = answer["result"]["content"]
        write, (entities,) = await find(client, "store a new entity in the knowledge graph")
        entity = {"name": name, "entityType": "note", "observations": [text]}
        await call(client, "execute_tool", {**write, "arguments": {entities: [entity]}})


asyncio.run(main())
