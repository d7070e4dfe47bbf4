import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { environmentVariable } from "@millrace/engine/config/config";
import { readMcpConfig } from "../mcp-config.ts";
import { createMcpSource } from "../mcp-source.ts";
import type { Tool, ToolSource } from "../../../src/tools/runtime/tool.ts";
import { freePort } from "@millrace/testing/free-port";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../tests/support/testing.ts";
import { aWorkspace } from "../../../tests/support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

/** The official server from npm. It is started here, never fetched. */
const everything = fileURLToPath(
  new URL("../../../node_modules/@modelcontextprotocol/server-everything/dist/index.js", import.meta.url),
);

let folder = "";
/** How long something may take on a busy machine. */
const soon = { timeout: 30_000 };
let model: ModelServer;
let server: TestServer;
let httpPort = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-everything-"));
  httpPort = await freePort();
  model = await startModelServer({});
  const graphs = join(folder, "langgraph.json");
  const workflow = fileURLToPath(new URL("../../../src/graph/workflow.ts", import.meta.url));
  await writeFile(graphs, JSON.stringify({ graphs: { agent: `${workflow}:workflow` } }));
  // The shell leads the group of both; the input of the server is kept in a file, so that it can be killed in the middle of a call.
  const script = `echo $$ >> ${folder}/leaders; tee -a ${folder}/input | "$0" "$1" stdio`;
  const allowed = { effect: "pure", approval: "allow" };
  const mcpFile = join(folder, "mcp.json");
  const servers = {
    everything: {
      command: "sh",
      args: ["-c", script, process.execPath, everything],
      env: ["MILLRACE_TEST_SECRET"],
      rules: { echo: allowed, "get-env": allowed },
    },
    remote: {
      url: `http://127.0.0.1:${httpPort}/mcp`,
      headers: { Authorization: "Bearer ${MILLRACE_TEST_SECRET}" },
      rules: { "*": { approval: "allow" } },
    },
  };
  await writeFile(mcpFile, JSON.stringify({ mcpServers: servers }));
  process.env["MILLRACE_TEST_SECRET"] = "only-for-the-server";
  process.env["MILLRACE_HIDDEN"] = "no";
  server = await startTestServer({
    graphs,
    mcpFile,
    mcpFileIsDefault: false,
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  delete process.env["MILLRACE_TEST_SECRET"];
  delete process.env["MILLRACE_HIDDEN"];
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const linesOf = async (file: string): Promise<string[]> =>
  (await readFile(join(folder, file), "utf8").catch(() => "")).split("\n").filter((line) => line !== "");

const run = (threadId: string, text: string, command?: object): Promise<unknown> =>
  server.client.runs.wait(threadId, "agent", {
    ...(command === undefined ? { input: { messages: [{ role: "user", content: text }] } } : { command }),
    context: { mode: "free_work" },
  });

async function waitingIn(threadId: string): Promise<unknown> {
  return (await server.send("GET", `/threads/${threadId}/approvals`)).json();
}

/** What the tools of a thread have answered, in order, and the last words. */
async function answersIn(threadId: string): Promise<{ results: string[]; lastWords: string }> {
  // The shape is what the assertions look at.
  const { messages } = (await server.client.threads.getState(threadId)).values as {
    messages: { type: string; content: string }[];
  };
  const results = messages.filter(({ type }) => type === "tool").map(({ content }) => content);
  return { results, lastWords: messages.at(-1)?.content ?? "" };
}

describe("the official everything server, by its input and output", () => {
  it("is used in a run with approval, killed in the middle of a call, and used again", async () => {
    const { thread_id } = await server.client.threads.create();
    model.push(
      { toolCalls: [{ name: "everything__get-sum", arguments: { a: 2, b: 40 } }] },
      { toolCalls: [{ name: "everything__trigger-long-running-operation", arguments: { duration: 600, steps: 1 } }] },
      { toolCalls: [{ name: "everything__echo", arguments: { message: "here again" } }] },
      { text: "All done." },
    );
    await run(thread_id, "Add two numbers.");
    const waiting = await waitingIn(thread_id);
    expect(waiting).toMatchObject([{ tool: "everything__get-sum", args: { a: 2, b: 40 } }]);
    expect(JSON.stringify(waiting)).toContain('of the MCP server \\"everything\\"');
    // Nothing has reached the server before the approval.
    expect((await linesOf("input")).filter((line) => line.includes("tools/call"))).toEqual([]);

    await run(thread_id, "", { resume: { decisions: [{ type: "approve" }] } });
    expect(await waitingIn(thread_id)).toMatchObject([{ tool: "everything__trigger-long-running-operation" }]);

    const ended = run(thread_id, "", { resume: { decisions: [{ type: "approve" }] } });
    await expect
      .poll(() => linesOf("input"), soon)
      .toContainEqual(expect.stringContaining('"name":"trigger-long-running-operation"'));
    const [leader] = await linesOf("leaders");
    process.kill(-Number(leader), "SIGKILL");
    await ended;

    const { results, lastWords } = await answersIn(thread_id);
    expect(results[0]).toContain("42");
    expect(results[1]).toMatch(/^Error \(network\): The MCP server everything went away during the call: .*SIGKILL/u);
    expect(results[1]).toContain("not known");
    expect(results[2]).toContain("here again");
    expect(lastWords).toBe("All done.");
    expect(await linesOf("leaders")).toHaveLength(2);
    const [request] = model.requests;
    expect(JSON.stringify(request)).toContain("everything__get-sum");
    model.assertFinished();
  });

  it("sees the variables that are named for it, and no other", async () => {
    const { thread_id } = await server.client.threads.create();
    model.push({ toolCalls: [{ name: "everything__get-env", arguments: {} }] }, { text: "Seen." });
    await run(thread_id, "What is in the environment?");
    const { results } = await answersIn(thread_id);
    expect(results[0]).toContain("only-for-the-server");
    expect(results[0]).not.toContain("MILLRACE_HIDDEN");
  });
});

describe("the official everything server, by HTTP", () => {
  const children: ChildProcess[] = [];
  const warnings: string[] = [];
  let source: ToolSource;

  beforeAll(() => {
    const { servers } = readMcpConfig(join(folder, "mcp.json"), environmentVariable);
    // Only the two-argument form of a pino method is used.
    const warn = ((_: object, message: string) => warnings.push(message)) as never;
    const remote = servers.filter(({ name }) => name === "remote");
    source = createMcpSource(remote, { warn }, { retrySeconds: 0 });
  });
  afterAll(async () => {
    await source.close();
    for (const child of children) child.kill("SIGKILL");
  });

  /** Starts it and waits until it listens. `requests` counts what came. */
  async function start(): Promise<{ child: ChildProcess; requests: () => number }> {
    const child = spawn(process.execPath, [everything, "streamableHttp"], {
      env: { ...process.env, PORT: String(httpPort) },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += String(part)));
    await expect.poll(() => output, soon).toContain("listening");
    return { child, requests: () => output.split("Received MCP POST request").length - 1 };
  }

  async function kill(child: ChildProcess): Promise<void> {
    child.kill("SIGKILL");
    await once(child, "exit");
  }

  async function call(name: string, input: object): Promise<ToolResult> {
    await using workspace = await aWorkspace();
    const tool = known.find((candidate) => candidate.name === `remote__${name}`);
    if (tool === undefined) throw new Error(`${name} is not offered`);
    return await workspace.call(tool, input);
  }

  let known: Tool[] = [];

  it("has no tools while it is down, and has them when it is up", async () => {
    const signal = new AbortController().signal;
    expect(await source.tools(signal)).toEqual([]);
    expect(warnings).toEqual(["mcp_server_down"]);
    await start();
    const find = async (): Promise<number> => (known = await source.tools(signal)).length;
    await expect.poll(find, soon).toBeGreaterThan(5);
    expect(await call("echo", { message: "hello" })).toMatchObject({ success: true, content: "Echo: hello" });
  });

  it("may be restarted between two calls without effect on them", async () => {
    await kill(children.at(-1) as ChildProcess);
    await start();
    expect(await call("echo", { message: "new" })).toMatchObject({ success: true, content: "Echo: new" });
  });

  it("gives a clear result when it is killed in the middle of a call, and is used again when it is back", async () => {
    await kill(children.at(-1) as ChildProcess);
    const { child, requests } = await start();
    await call("echo", { message: "connected" });
    const before = requests();
    const cut = call("trigger-long-running-operation", { duration: 600, steps: 1 });
    await expect.poll(requests, soon).toBeGreaterThan(before);
    await kill(child);
    const result = await cut;
    expect(result).toMatchObject({ success: false, errorType: "network" });
    expect(result.content).toContain("not known");
    expect(await call("echo", { message: "?" })).toMatchObject({ success: false, errorType: "network" });
    await start();
    expect(await call("echo", { message: "back" })).toMatchObject({ success: true, content: "Echo: back" });
  });
});
