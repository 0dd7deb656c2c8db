#!/usr/bin/env node
// Starts the program of this platform, which an optional dependency brought along. Standard streams are handed on as they are:
// on a pipe the program speaks MCP, and nothing else may be written there.
"use strict";

const { spawn } = require("node:child_process");

const platform = `${process.platform}-${process.arch}`;
const file = process.platform === "win32" ? "toolcrib.exe" : "toolcrib";

// The programs for Linux are linked with glibc, which Alpine and its like do not have.
function isMusl() {
  return process.platform === "linux" && !process.report.getReport().header.glibcVersionRuntime;
}
const build = "build it with `cargo install --path crates/gateway`";
const noneForMusl = `toolcrib: there is no program for ${platform} with musl, which this system has in place of glibc; take an image with glibc, or ${build}`;

let program;
try {
  program = require.resolve(`@toolcrib/${platform}/bin/${file}`);
} catch {
  console.error(
    isMusl()
      ? noneForMusl
      : `toolcrib: there is no program for ${platform} here; install without --no-optional, or ${build}`,
  );
  process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit", windowsHide: true });
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => child.kill(signal));
}
child.on("error", (error) => {
  console.error(isMusl() ? noneForMusl : `toolcrib: ${program} cannot be started: ${error.message}`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  if (signal === null) {
    process.exit(code ?? 1);
  }
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"]) {
    process.removeAllListeners(name);
  }
  process.kill(process.pid, signal);
});
