import { access, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/testing.ts";

const keys = { ada: "key-of-ada-for-mcp", bob: "key-of-bob-for-mcp", cy: "key-of-cy-for-mcp" };
let folder = "";
let server: TestServer;
const clients: Client[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-mcp-"));
  const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const ours = `${at("../../support/test-graphs.ts")}`;
  const names = ["counter", "asker", "failing", "gated", "talker"];
  const graphs = {
    agent: { path: `${at("../../../src/graph/workflow.ts")}:workflow`, description: "Works with files" },
    ...Object.fromEntries(names.map((name) => [name, `${ours}:${name}`])),
  };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    apiKeys: Object.entries(keys).map(([owner, key]) => ({ owner, key })),
  });
});
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

interface Options {
  key?: string;
  answer?: (message: string) => ElicitResult;
  fetch?: typeof fetch;
}

async function connect({ key = keys.ada, answer, fetch: send }: Options = {}): Promise<Client> {
  const capabilities = answer === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: "test", version: "1.0.0" }, { capabilities });
  clients.push(client);
  if (answer !== undefined) client.setRequestHandler(ElicitRequestSchema, ({ params }) => answer(params.message));
  const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
    requestInit: { headers: { "x-api-key": key } },
    reconnectionOptions: {
      initialReconnectionDelay: 1,
      maxReconnectionDelay: 1,
      reconnectionDelayGrowFactor: 1,
      maxRetries: 20,
    },
    ...(send !== undefined && { fetch: send }),
  });
  await client.connect(transport);
  return client;
}

const Result = z.looseObject({
  content: z.tuple([z.object({ type: z.literal("text"), text: z.string() })]),
  structuredContent: z
    .looseObject({ thread_id: z.string().optional(), run_id: z.string().optional(), status: z.string().optional() })
    .default({}),
  isError: z.boolean().default(false),
});

async function call(client: Client, name: string, input: object): Promise<z.infer<typeof Result>> {
  return Result.parse(await client.callTool({ name, arguments: { ...input } }));
}

/** A folder in the workspace with one file. */
async function folderOf(name: string): Promise<void> {
  await mkdir(join(server.config.workspace, name), { recursive: true });
  await writeFile(join(server.config.workspace, name, "seen.md"), "text");
}

const deletion = (name: string): object => ({ messages: [{ role: "user", content: `delete the folder ${name}` }] });

describe("the MCP server at /mcp", () => {
  it("lists each assistant as a tool with the input schema of its graph", async () => {
    const client = await connect();
    expect(client.getServerVersion()).toMatchObject({ name: "millrace" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(
      ["agent", "asker", "counter", "failing", "gated", "talker"].toSorted(),
    );
    expect(tools.find(({ name }) => name === "agent")).toMatchObject({
      description: "Works with files",
      inputSchema: { type: "object", properties: { messages: {}, thread_id: { type: "string" }, resume: {} } },
    });
    expect(tools.find(({ name }) => name === "counter")).toMatchObject({
      inputSchema: { properties: { value: { type: "number" } } },
    });
  });

  it("runs a graph in a thread, which the next call can continue", async () => {
    const client = await connect();
    const first = await call(client, "counter", { value: 4 });
    expect(first.structuredContent).toMatchObject({ status: "success", values: { value: 5 } });
    const { thread_id = "", run_id = "" } = first.structuredContent;
    const second = await call(client, "counter", { value: 7, thread_id });
    expect(second.structuredContent).toMatchObject({ thread_id, values: { value: 8 } });
    expect(await server.client.runs.get(thread_id, run_id)).toMatchObject({ status: "success", thread_id });
    const reply = await call(client, "talker", { messages: [{ role: "user", content: "hi" }] });
    expect(reply.content[0].text).toBe("Hello there");
  });

  it("runs our own workflow with its tools", async () => {
    await folderOf("drafts");
    const client = await connect();
    const { content } = await call(client, "agent", {
      messages: [{ role: "user", content: "read drafts/seen.md" }],
    });
    expect(content[0].text).toContain("text");
  });

  it("sends progress to a client that requests it", async () => {
    const client = await connect();
    const progress: string[] = [];
    await client.callTool({ name: "counter", arguments: { value: 1 } }, undefined, {
      onprogress: ({ message }) => void progress.push(message ?? ""),
    });
    expect(progress).toEqual(["add"]);
  });

  it.each([
    ["accept", { decision: "approve" }, false],
    ["accept", { decision: "reject", reason: "I need it" }, true],
    ["decline", undefined, true],
  ] as const)("asks for approval before a folder is deleted: %s %o", async (action, content, stays) => {
    const name = `${action}-${content?.decision ?? "no"}`;
    await folderOf(name);
    const asked: string[] = [];
    const client = await connect({
      answer: (message) => {
        asked.push(message);
        return { action, ...(content !== undefined && { content: { ...content } }) };
      },
    });
    const result = await call(client, "agent", deletion(name));
    expect(asked).toEqual([expect.stringContaining(name)]);
    expect(result.structuredContent).toMatchObject({ status: "success" });
    const isThere = await access(join(server.config.workspace, name)).then(
      () => true,
      () => false,
    );
    expect(isThere).toBe(stays);
  });

  it("asks for a text if a graph needs one", async () => {
    const client = await connect({ answer: () => ({ action: "accept", content: { answer: "gladly" } }) });
    expect((await call(client, "asker", {})).structuredContent).toMatchObject({ values: { answer: "gladly" } });
  });

  it("returns the open question to a client without elicitation, and accepts the answer in a second call", async () => {
    await folderOf("later");
    const client = await connect();
    const { content, structuredContent } = await call(client, "agent", deletion("later"));
    expect(structuredContent.status).toBe("interrupted");
    expect(content[0].text).toContain("later");
    const { thread_id } = structuredContent;
    expect(content[0].text).toContain(`{"thread_id": "${thread_id}", "resume": {"decisions": [{"type": "approve"}]}}`);
    const answered = await call(client, "agent", { thread_id, resume: { decisions: [{ type: "approve" }] } });
    expect(answered.structuredContent).toMatchObject({ thread_id, status: "success" });
  });

  it("cancels the run of a cancelled call", async () => {
    const client = await connect();
    const started = Promise.withResolvers<void>();
    const stop = new AbortController();
    const calling = client.callTool({ name: "gated", arguments: { gate: "mcp-cancelled" } }, undefined, {
      signal: stop.signal,
      onprogress: () => undefined,
    });
    const running = async (): Promise<number> => {
      const threads = await server.client.threads.search({ status: "busy" });
      if (threads.length > 0) started.resolve();
      return threads.length;
    };
    await expect.poll(running).toBe(1);
    await started.promise;
    stop.abort("enough");
    await expect(calling).rejects.toThrow(/enough|abort/u);
    await expect.poll(running).toBe(0);
  });

  it("goes on after a lost connection, and the client that reconnects misses nothing", async () => {
    let cut: (() => void) | undefined;
    const client = await connect({
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        const isCall = typeof init?.body === "string" && init.body.includes("tools/call");
        if (!isCall || response.body === null) return response;
        const pipe = new TransformStream<Uint8Array, Uint8Array>();
        const stop = new AbortController();
        response.body.pipeTo(pipe.writable, { signal: stop.signal }).catch(() => undefined);
        cut = () => stop.abort(new Error("cut"));
        return new Response(pipe.readable, response);
      },
    });
    const calling = call(client, "gated", { gate: "mcp-cut" });
    await expect.poll(async () => (await server.client.threads.search({ status: "busy" })).length).toBe(1);
    cut?.();
    openGate("mcp-cut");
    expect((await calling).structuredContent).toMatchObject({ status: "success", values: { passed: true } });
  });

  it("answers a client without a session, and one whose session has ended starts a new one", async () => {
    const accept = "application/json, text/event-stream";
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list", params: {} };
    const response = await server.send("POST", "/mcp", list, { accept, "x-api-key": keys.ada });
    expect(response.status).toBe(200);
    expect(await response.text()).toContain('"name":"counter"');
    const gone = { accept, "x-api-key": keys.ada, "mcp-session-id": "no-such-session" };
    expect((await server.send("POST", "/mcp", list, gone)).status).toBe(404);
    expect((await server.send("GET", "/mcp", undefined, { ...gone, accept: "text/event-stream" })).status).toBe(404);
    expect((await server.send("DELETE", "/mcp", undefined, gone)).status).toBe(404);
  });

  it("removes the least recently used session of an owner who opens more than a hundred", async () => {
    const accept = "application/json, text/event-stream";
    const send = (message: object, session?: string): Promise<Response> =>
      server.send("POST", "/mcp", message, {
        accept,
        "x-api-key": keys.cy,
        ...(session !== undefined && { "mcp-session-id": session }),
      });
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
    const open = async (): Promise<string> =>
      (await send({ jsonrpc: "2.0", id: 1, method: "initialize", params })).headers.get("mcp-session-id") ?? "";
    const ping = async (session: string): Promise<number> =>
      (await send({ jsonrpc: "2.0", id: 2, method: "ping" }, session)).status;
    const [first, second] = [await open(), await open()];
    for (let opened = 2; opened < 100; opened += 1) await open();
    expect(await ping(first)).toBe(200);
    const last = await open();
    expect(await Promise.all([first, second, last].map(ping))).toEqual([200, 404, 200]);
  });

  it("refuses a client that asks for a stream, for an unknown event, or for another type of content", async () => {
    const { transport } = await connect();
    const session = (transport as StreamableHTTPClientTransport).sessionId ?? "";
    const headers = { accept: "text/event-stream", "x-api-key": keys.ada, "mcp-session-id": session };
    expect((await server.send("GET", "/mcp", undefined, headers)).status).toBe(405);
    const unknown = { ...headers, "last-event-id": `${crypto.randomUUID()}.1` };
    expect((await server.send("GET", "/mcp", undefined, unknown)).status).toBe(400);
    expect((await server.send("GET", "/mcp", undefined, { ...headers, accept: "text/html" })).status).toBe(406);
  });

  it("answers an invalid call with an error", async () => {
    const client = await connect();
    await expect(client.callTool({ name: "unknown", arguments: {} })).rejects.toThrow(/-32602.*Unknown tool: unknown/u);
    expect(await call(client, "failing", { value: 1 })).toMatchObject({
      isError: true,
      content: [{ text: "out of luck" }],
    });
    expect(await call(client, "counter", { thread_id: "x" })).toMatchObject({ isError: true });
    expect(await call(client, "counter", { resume: 1 })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("thread_id is missing") }],
    });
  });

  it("shows each owner only their own threads", async () => {
    const ada = await connect();
    const bob = await connect({ key: keys.bob });
    const { structuredContent } = await call(ada, "counter", { value: 1 });
    const taken = await call(bob, "counter", { value: 1, thread_id: structuredContent.thread_id });
    expect(taken).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/not found/iu) }] });
    const session = (ada.transport as StreamableHTTPClientTransport).sessionId ?? "";
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const accept = "application/json, text/event-stream";
    const as = (key: string): Promise<Response> =>
      server.send("POST", "/mcp", list, { accept, "x-api-key": key, "mcp-session-id": session });
    expect((await as(keys.bob)).status).toBe(404);
    expect((await as(keys.ada)).status).toBe(200);
    expect((await server.send("POST", "/mcp", list, { accept, "x-api-key": "wrong" })).status).toBe(401);
  });
});

it("is not served if the manifest disables it", async () => {
  const path = join(folder, "off.json");
  await writeFile(path, JSON.stringify({ graphs: {}, http: { disable_mcp: true } }));
  const without = await startTestServer({ graphs: path });
  try {
    expect((await without.send("POST", "/mcp", { jsonrpc: "2.0", id: 1, method: "ping" })).status).toBe(404);
  } finally {
    await without.remove();
  }
});
