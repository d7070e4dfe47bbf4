import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { byHeader, openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let servers: RulesServers;
beforeEach(async () => {
  servers = await openRulesServers();
});
afterEach(() => servers.remove());

const chat = (messages: object[]) => ({ model: "talker", messages });
const a2a = (parts: object[], contextId?: string) => ({
  jsonrpc: "2.0",
  id: 1,
  method: "message/send",
  params: { message: { kind: "message", messageId: "m-1", role: "user", parts, contextId } },
});
const hello = { role: "user", content: "Hello" };

describe("a refused request leaves no thread", () => {
  let server: TestServer;
  afterEach(() => server.remove());

  const badCall = { id: "call-1", type: "function", function: { name: "look", arguments: "no JSON" } };
  it.each([
    ["a chat completion", "/v1/chat/completions", chat([hello, { role: "assistant", tool_calls: [badCall] }])],
    ["a message over A2A", "/a2a/counter", a2a([{ kind: "text", text: "Hello" }])],
  ])("if the input of %s is wrong", async (_name, path, body) => {
    server = await startTestServer();
    const answer = await (await server.send("POST", path, body)).text();
    expect(answer).toMatch(/no JSON object|no channel/u);
    expect(await server.client.threads.search()).toEqual([]);
  });

  it.each([
    ["a chat completion", "/v1/chat/completions", chat([hello])],
    ["a message over A2A", "/a2a/talker", a2a([{ kind: "text", text: "Hello" }])],
    ["a run", "/runs", { assistant_id: "talker", input: {} }],
  ])("if the queue is full for %s", async (_name, path, body) => {
    server = await startTestServer({ queueLimit: 0 });
    expect((await server.send("POST", path, body)).status).toBe(429);
    expect(await server.client.threads.search()).toEqual([]);
  });

  it("if the queue is full for a call of a tool over MCP", async () => {
    server = await startTestServer({ queueLimit: 0 });
    const client = new McpClient({ name: "test", version: "1.0.0" });
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    const result = await client.callTool({ name: "counter", arguments: {} }).catch((error: unknown) => error);
    await client.close();
    expect(JSON.stringify(result)).toContain("runs are waiting already");
    expect(await server.client.threads.search()).toEqual([]);
  });
});

// The rules are a module of their own, in the same process.
const shared = globalThis as typeof globalThis & { mayStart?: (user: string) => Promise<boolean> };

describe("a new thread that a refused request has created and deletes", () => {
  const threadId = crypto.randomUUID();
  it.each([
    ["a chat completion", "/v1/chat/completions", chat([hello]), { "x-thread-id": threadId }],
    ["a message over A2A", "/a2a/talker", a2a([{ kind: "text", text: "Hello" }], threadId), {}],
  ])("is created again for %s that has found it", async (_name, path, body, headers) => {
    const server = await servers.serve(
      `${byHeader}.on("threads:create_run", ({ user }) => globalThis.mayStart(user.identity))`,
    );
    const [created, found, deleted] = [1, 2, 3].map(() => Promise.withResolvers<void>());
    shared.mayStart = async (user) => {
      if (user === "bob") {
        found?.resolve();
        await deleted?.promise;
        return true;
      }
      created?.resolve();
      await found?.promise;
      return false;
    };
    const refused = server.send("POST", path, body, { ...headers, "x-user": "ada" });
    await created?.promise;
    const admitted = server.send("POST", path, body, { ...headers, "x-user": "bob" });
    expect((await refused).status).toBe(403);
    deleted?.resolve();
    const answer = await admitted;
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Hello there")]);
  });
});
