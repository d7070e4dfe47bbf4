import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { access, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { z } from "zod";
import { loadConfig, type Config } from "@millrace/engine/config/config";
import { startServer } from "../src/server.ts";
import { findSandbox, limiter } from "../src/tools/programs/sandbox.ts";
import { startTestServer } from "./support/test-server.ts";
import { openGate } from "./support/test-graphs.ts";
import { programEnvironment } from "./support/processes/program.ts";

const Started = z.looseObject({ url: z.url() });

let folder: string;
let config: Config;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-"));
  const graphs = { counter: `${fileURLToPath(new URL("support/test-graphs.ts", import.meta.url))}:counter` };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  await mkdir(join(folder, "workspace"));
  config = {
    ...loadConfig({}),
    port: 0,
    dataDir: join(folder, "data"),
    workspace: join(folder, "workspace"),
    workspaceIsDefault: false,
    graphs: join(folder, "langgraph.json"),
    logLevel: "silent",
  };
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a port in use is named, with another one", async () => {
  const other = createServer();
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  const address = other.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  await expect(startServer({ ...config, port, portIsDefault: false })).rejects.toMatchObject({
    code: "config",
    message: `Port ${port} on 127.0.0.1 is in use.`,
    suggestion: expect.stringMatching(/PORT=\d+/),
  });
  // The port is a default, not a choice of the operator: the next free one is taken.
  const server = await startServer({ ...config, port, portIsDefault: true });
  expect(Number(new URL(server.url).port)).toBeGreaterThan(port);
  await server.close();
  other.close();
});

test("a workspace that does not exist, or is a file, is named", async () => {
  const missing = join(folder, "missing");
  await expect(startServer({ ...config, workspace: missing })).rejects.toMatchObject({
    code: "config",
    message: `The workspace ${missing} cannot be used: it does not exist.`,
    suggestion: expect.stringContaining("MILLRACE_WORKSPACE"),
  });
  await expect(startServer({ ...config, workspace: config.graphs })).rejects.toThrow("is not a folder");
});

test.each(["data", "..data"])("a data folder %s in the workspace is refused before anything is made", async (name) => {
  const dataDir = join(config.workspace, name);
  await expect(startServer({ ...config, dataDir })).rejects.toMatchObject({ code: "config" });
  await expect(access(dataDir)).rejects.toMatchObject({ code: "ENOENT" });
});

test("the default workspace is made", async () => {
  const workspace = join(folder, "made");
  const server = await startServer({ ...config, workspace, workspaceIsDefault: true });
  await server.close();
  await expect(mkdir(workspace)).rejects.toMatchObject({ code: "EEXIST" });
});

test("a data folder that cannot be made is named", async () => {
  const dataDir = join(config.graphs, "data");
  await expect(startServer({ ...config, dataDir })).rejects.toMatchObject({
    code: "config",
    message: expect.stringContaining(dataDir),
    suggestion: expect.stringContaining("MILLRACE_DATA_DIR"),
  });
});

test("conversations are stored where they are said to be, and never in the workspace (SESS-17)", async () => {
  const conversations = { ...config.conversations, folder: join(folder, "conversations") };
  await (await startServer({ ...config, conversations })).close();
  await access(join(folder, "conversations", "millrace.db"));
  await expect(access(join(config.dataDir, "millrace.db"))).rejects.toMatchObject({ code: "ENOENT" });
  const inside = { ...conversations, folder: join(config.workspace, "conversations") };
  await expect(startServer({ ...config, conversations: inside })).rejects.toMatchObject({
    code: "config",
    suggestion: expect.stringContaining("CONVERSATION_STORAGE_PATH"),
  });
});

test("two servers in one process share nothing: each has its own of what is there once (ARCH-14)", async () => {
  const one = await startTestServer();
  const other = await startTestServer();
  try {
    const { thread_id } = await one.client.threads.create();
    await one.client.runs.wait(thread_id, "counter", { input: { value: 1 } });
    await expect(other.client.threads.get(thread_id)).rejects.toThrow("404");
    await one.close();
    const left = await other.client.threads.create();
    expect(await other.client.runs.wait(left.thread_id, "counter", { input: { value: 2 } })).toEqual({ value: 3 });
  } finally {
    await one.remove();
    await other.remove();
  }
});

test("a database that is none is left as it is", async () => {
  await mkdir(config.dataDir);
  await writeFile(join(config.dataDir, "millrace.db"), "this is a text, and a long one, not a database".repeat(100));
  await expect(startServer(config)).rejects.toMatchObject({ code: "storage_corrupt" });
});

test("a list of graphs that cannot be read is named", async () => {
  await expect(startServer({ ...config, graphs: join(folder, "none.json") })).rejects.toMatchObject({
    code: "config",
    message: expect.stringContaining("none.json"),
  });
});

test("a graph that does not load leaves the others served, and says why when asked for", async () => {
  const file = fileURLToPath(new URL("support/test-graphs.ts", import.meta.url));
  const graphs = { counter: `${file}:counter`, broken: `${file}:nothing` };
  await writeFile(config.graphs, JSON.stringify({ graphs }));
  const server = await startServer(config);
  try {
    const found = await fetch(`${server.url}/assistants/search`, { method: "POST", body: "{}" });
    expect(await found.json()).toMatchObject([{ graph_id: "counter" }]);
  } finally {
    await server.close();
  }
});

test("a server that closes lets its run finish, answers its reader and refuses new runs with 503", async () => {
  const server = await startTestServer();
  const { thread_id: busy } = await server.client.threads.create();
  const { thread_id: idle } = await server.client.threads.create();
  const gate = crypto.randomUUID();
  const run = await server.client.runs.create(busy, "gated", { input: { gate } });
  const joined = server.client.runs.join(busy, run.run_id);
  await expect.poll(async () => (await server.client.runs.get(busy, run.run_id)).status).toBe("running");
  const closed = server.close();
  const refused = await server.send("POST", `/threads/${idle}/runs`, { assistant_id: "counter", input: {} });
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  openGate(gate);
  expect(await joined).toMatchObject({ passed: true });
  await closed;
  await expect(fetch(server.url)).rejects.toThrow("fetch failed");
  await server.remove();
});

test("a server that closes says within a 200 that it stops waiting for a run: sent again it would be a second one", async () => {
  const server = await startTestServer({ drainSeconds: 0.05 });
  const { thread_id } = await server.client.threads.create();
  const body = { assistant_id: "gated", input: { gate: crypto.randomUUID() } };
  const waiting = server.send("POST", `/threads/${thread_id}/runs/wait`, body);
  await expect.poll(async () => (await server.client.runs.list(thread_id, { status: "running" })).length).toBe(1);
  const [run] = await server.client.runs.list(thread_id);
  await server.close();
  const answer = await waiting;
  expect(answer.status).toBe(200);
  expect(answer.headers.get("content-location")).toBe(`/threads/${thread_id}/runs/${run?.run_id}`);
  expect(await answer.json()).toMatchObject({ __error__: { message: expect.stringContaining("is stopping") } });
  await server.remove();
});

test("a request with a key gets the failure, for it is safe to send it again", async () => {
  const server = await startTestServer({ drainSeconds: 0.05 });
  const { thread_id } = await server.client.threads.create();
  const body = { assistant_id: "gated", input: { gate: crypto.randomUUID() } };
  const waiting = server.send("POST", `/threads/${thread_id}/runs/wait`, body, { "idempotency-key": "once" });
  await expect.poll(async () => (await server.client.runs.list(thread_id, { status: "running" })).length).toBe(1);
  await server.close();
  expect((await waiting).status).toBe(503);
  await server.remove();
});

function startProgram(entry: string, environment: Record<string, string>): ChildProcess {
  return spawn(process.execPath, [fileURLToPath(new URL(`../${entry}`, import.meta.url))], {
    cwd: folder,
    env: {
      ...programEnvironment,
      PORT: "0",
      MILLRACE_GRAPHS: config.graphs,
      MILLRACE_WORKSPACE: config.workspace,
      MILLRACE_DATA_DIR: config.dataDir,
      MILLRACE_LOG_LEVEL: "silent",
      ...environment,
    },
  });
}

async function output(stream: NodeJS.ReadableStream | null, until?: RegExp): Promise<string> {
  let text = "";
  for await (const part of stream ?? []) {
    text += String(part);
    if (until?.test(text)) break;
  }
  return text;
}

test.each(["src/server.ts", "bin/millrace.cjs"])(
  "%s says where it listens and what it serves in one line of JSON, and ends with 0 at SIGTERM",
  async (entry) => {
    const program = startProgram(entry, { MILLRACE_CONSOLE: "on", MILLRACE_MODEL: "offline" });
    const started = Started.parse(JSON.parse(await output(program.stdout, /\n/)));
    const { url } = started;
    expect(started).toMatchObject({ msg: "listening", console: `${url}/console/`, graphs: ["counter"] });
    expect(started).toMatchObject({ model: "offline (MILLRACE_MODEL says so)", data: config.dataDir });
    expect(await (await fetch(`${url}/ok`)).json()).toEqual({ ok: true });
    const answer = await fetch(url, { headers: { accept: "text/html" }, redirect: "manual" });
    expect([answer.status, answer.headers.get("location")]).toEqual([302, "/console/"]);
    program.kill("SIGTERM");
    expect(await once(program, "exit")).toEqual([0, null]);
  },
);

test("a start that fails says why in one paragraph and ends with 1", async () => {
  const program = startProgram("src/server.ts", { MILLRACE_WORKSPACE: "/nowhere/at/all" });
  const exit = once(program, "exit");
  const text = await output(program.stderr);
  expect(text).toMatch(
    /^Millrace could not go on\. The workspace \/nowhere\/at\/all cannot be used: it does not exist\. Create it/,
  );
  expect(text).not.toContain("    at ");
  expect((await exit)[0]).toBe(1);
});

const hasNgspice = existsSync("/usr/bin/ngspice") && existsSync(limiter) && (await findSandbox()) !== undefined;

test.runIf(hasNgspice)(
  "a server that stops ends ngspice that a person started by hand, and leaves nothing of it",
  async () => {
    const temporary = join(folder, "temporary");
    await mkdir(temporary);
    vi.stubEnv("TMPDIR", temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const folders = async () => (await readdir(temporary)).filter((name) => name.includes("spice"));
    const server = await startServer({ ...config, ngspice: "/usr/bin/ngspice" });
    try {
      await writeFile(join(folder, "workspace/endless.cir"), endless);
      const post = { method: "POST", headers: { "content-type": "application/json" } };
      const made = await fetch(`${server.url}/threads`, { ...post, body: "{}" });
      const { thread_id } = z.object({ thread_id: z.string() }).parse(await made.json());
      const path = `${server.url}/threads/${thread_id}/tools/run_simulation/run`;
      // Whether it is answered or cut off is not what this is about.
      fetch(path, { ...post, body: JSON.stringify({ args: { circuit: "endless.cir" } }) }).catch(() => undefined);
      while ((await folders()).length === 0) await new Promise((resolve) => setImmediate(resolve));
    } finally {
      await server.close();
    }
    expect(await folders()).toEqual([]);
  },
);

const endless = [
  "Endless",
  "V1 in 0 pulse(0 1 0 1p 1p 1n 2n)",
  "R1 in out 1k",
  "C1 out 0 1n",
  ".tran 1n 400u",
  ".end",
].join("\n");
