import { spawn } from "node:child_process";
import { appendFileSync, existsSync } from "node:fs";
import { createInterface } from "node:readline";

/**
 * An MCP server that does wrong what can be done wrong. Started as `node fake-server.ts <log file> <mode>`: it writes a line
 * into the log for each start, each call and each process it starts.
 */
const [logFile = "", mode = "well"] = process.argv.slice(2);
const log = (line: string): void => appendFileSync(logFile, `${line}\n`);
const send = (message: object): boolean => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const text = (words: string): object => ({ content: [{ type: "text", text: words }] });
const takes = (properties: object, required: string[] = []): object => ({ type: "object", properties, required });

const tools = [
  {
    name: "echo",
    description: "Says it\u200b again",
    inputSchema: takes({ message: { type: "string" } }, ["message"]),
  },
  ...["hang", "die", "huge", "long", "garbage", "odd", "fail", "late", "grow", "sulk", "refuse", "image"].map(
    (name) => ({
      name,
      inputSchema: takes({}),
    }),
  ),
  { name: "not.a name", inputSchema: takes({}) },
  ...(mode === "bad-tools"
    ? [
        { name: "no-schema" },
        { name: "wrong-schema", inputSchema: { type: "string" } },
        { description: "without a name" },
        { name: "n".repeat(80), inputSchema: takes({}) },
        { name: "echo", inputSchema: takes({}) },
        { name: "huge-schema", inputSchema: takes({ a: { type: "string", description: "x".repeat(30_000) } }) },
      ]
    : []),
];

function call(id: number, name: string, args: Record<string, unknown>): void {
  log(`call ${name}`);
  switch (name) {
    case "echo":
      return void send({ id, result: text(String(args["message"])) });
    case "hang":
      return;
    case "die":
      return process.exit(3);
    case "huge":
      return void send({ id, result: text("x".repeat(11 * 1024 * 1024)) });
    case "long":
      return void send({ id, result: text("x".repeat(300_000)) });
    case "garbage":
      return void process.stdout.write(`{"jsonrpc":"2.0","id":${id},"result":{"content":[\n`);
    case "odd":
      return void send({ id, result: { content: [{ type: "surprise" }] } });
    case "fail":
      return void send({ id, result: { ...text("no such thing"), isError: true } });
    case "refuse":
      return void send({ id, error: { code: -32602, message: "not these arguments" } });
    case "image":
      return void send({ id, result: { content: [{ type: "image", data: "AAAA", mimeType: "image/png" }] } });
    case "grow":
    case "sulk":
      isSulking = name === "sulk";
      if (name === "grow") tools.push({ name: "grown", inputSchema: takes({}) });
      send({ method: "notifications/tools/list_changed" });
      return void send({ id, result: text("changed") });
    case "late":
      late = id;
      return;
    default:
      return void send({ id, result: text(`ran ${name}`) });
  }
}

let late: number | undefined;
let isSulking = false;

log(`start ${process.pid}`);
if (mode === "down" || (mode === "down-until-file" && !existsSync(`${logFile}.up`))) {
  process.stderr.write("the licence has run out\n");
  process.exit(1);
}
if (mode === "with-child") {
  const child = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" });
  log(`child ${child.pid}`);
}
if (mode === "stubborn") {
  process.on("SIGTERM", () => log("asked to end"));
  setInterval(() => undefined, 1_000);
}
process.stdout.write("[info] hello\n");

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (mode === "silent") continue;
  if (method === "initialize") {
    send({
      id,
      result: {
        protocolVersion: params.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "f", version: "1" },
      },
    });
  } else if (method === "tools/list") {
    if (isSulking) continue;
    send({ id, result: { tools, ...(mode === "endless" ? { nextCursor: "more" } : {}) } });
  } else if (method === "tools/call") call(id, params.name, params.arguments);
  else if (method === "notifications/cancelled") {
    log("cancelled");
    if (late !== undefined) send({ id: late, result: text("too late") });
  } else if (method === "ping" && mode !== "deaf") send({ id, result: {} });
}
