// An agent's errand with the official TypeScript client: what a file says goes into the knowledge graph.
//
// Usage: flow.mjs FILE NAME URL | flow.mjs FILE NAME PROGRAM [ARGUMENT]...
//
// Knows no tool but the five. Prints one JSON object a line: the definitions, then each call and its answer.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [file, name, ...server] = process.argv.slice(2);
const transport = server[0].startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(server[0]))
  : new StdioClientTransport({ command: server[0], args: server.slice(1), env: process.env });
const client = new Client({ name: "flow", version: "1" });

const tell = (value) => console.log(JSON.stringify(value));

async function call(tool, args) {
  const result = await client.callTool({ name: tool, arguments: args });
  const heard = result.content[0].text;
  tell({ said: { name: tool, arguments: args }, heard });
  if (result.isError) throw new Error(`${tool} failed: ${heard}`);
  return JSON.parse(heard);
}

async function find(query) {
  const found = await call("search_tools", { query });
  const { server, tool } = found.results[0];
  const details = await call("get_tool_details", { server, tool });
  const required = details.parameters.filter((parameter) => parameter.required);
  return [{ server, tool }, required.map((parameter) => parameter.name)];
}

await client.connect(transport);
const { tools } = await client.listTools();
tell({ tools });
const [read, [path]] = await find("read the text of a file");
const answer = await call("execute_tool", { ...read, arguments: { [path]: file } });
const [write, [entities]] = await find("store a new entity in the knowledge graph");
const entity = { name, entityType: "note", observations: [answer.result.content] };
await call("execute_tool", { ...write, arguments: { [entities]: [entity] } });
await client.close();
