import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema, type ElicitResult } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, afterEach, describe, expect, it } from "vitest";
import { startPostgres } from "../../support/processes/postgres.ts";
import { openGate } from "../../support/test-graphs.ts";
import type { TestServer } from "../../support/test-server.ts";
import { createServers, type Servers } from "../two-servers.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

const keys = { ada: "key-of-ada-for-two", bob: "key-of-bob-for-two" };

/** `MILLRACE_TEST_STORAGE=servers` takes all of `tests/http/clients/mcp.test.ts` through two servers. */
describe.skipIf(postgres === undefined)("a client of /mcp whose requests go to several servers", () => {
  let servers: Servers;
  let client: Client | undefined;
  afterEach(async () => {
    await client?.close();
    client = undefined;
    await servers.close();
  });

  async function start(): Promise<[TestServer, TestServer]> {
    servers = await createServers(postgres);
    const apiKeys = Object.entries(keys).map(([owner, key]) => ({ owner, key }));
    return [await servers.start({ apiKeys }), await servers.start({ apiKeys })];
  }

  /** A client whose calls go to the first server, and all else to the second. `cut` cuts the streams of its calls. */
  async function connect(
    [first, second]: readonly [TestServer, TestServer],
    answer: () => ElicitResult | Promise<ElicitResult> = () => ({ action: "cancel" }),
  ): Promise<{ client: Client; cut: () => void; transport: StreamableHTTPClientTransport }> {
    const opened = new Client({ name: "test", version: "1.0.0" }, { capabilities: { elicitation: {} } });
    opened.setRequestHandler(ElicitRequestSchema, answer);
    const cuts = new AbortController();
    const delays = { initialReconnectionDelay: 1, maxReconnectionDelay: 10, reconnectionDelayGrowFactor: 1.5 };
    const transport = new StreamableHTTPClientTransport(new URL(`${first.url}/mcp`), {
      requestInit: { headers: { "x-api-key": keys.ada } },
      reconnectionOptions: { ...delays, maxRetries: 100 },
      fetch: async (input, init) => {
        const isCall = typeof init?.body === "string" && init.body.includes("tools/call");
        if (!isCall) return await fetch(String(input).replace(first.url, second.url), init);
        const response = await fetch(input, init);
        const pipe = new TransformStream<Uint8Array, Uint8Array>();
        response.body?.pipeTo(pipe.writable, { signal: cuts.signal }).catch(() => undefined);
        return new Response(pipe.readable, response);
      },
    });
    await opened.connect(transport);
    client = opened;
    return { client: opened, cut: () => cuts.abort(new Error("cut")), transport };
  }

  const gated = (of: Client, gate: string, signal?: AbortSignal) =>
    of.callTool({ name: "gated", arguments: { gate } }, undefined, {
      ...(signal && { signal }),
      onprogress: () => undefined,
    });

  const running = async ({ client: { threads } }: TestServer): Promise<number> =>
    (await threads.search({ status: "busy" })).length;

  it("answers a question, and cancels a call, at another server than that of the call", async () => {
    const both = await start();
    const { client: mcp } = await connect(both, () => ({ action: "accept", content: { answer: "gladly" } }));
    expect(await mcp.callTool({ name: "asker", arguments: {} })).toMatchObject({
      structuredContent: { status: "success", values: { answer: "gladly" } },
    });
    const stop = new AbortController();
    const calling = gated(mcp, "two-cancelled", stop.signal);
    await expect.poll(() => running(both[0])).toBe(1);
    stop.abort("enough");
    await expect(calling).rejects.toThrow(/enough|abort/u);
    await expect.poll(() => running(both[0])).toBe(0);
  });

  it("reads on at another server where its stream was cut, with each message once", async () => {
    const both = await start();
    const { client: mcp, cut } = await connect(both);
    const received: string[] = [];
    const calling = mcp.callTool({ name: "gated", arguments: { gate: "two-cut" } }, undefined, {
      onprogress: ({ progress, message }) => void received.push(`${progress} ${message}`),
    });
    await expect.poll(() => running(both[0])).toBe(1);
    cut();
    openGate("two-cut");
    expect(await calling).toMatchObject({ structuredContent: { status: "success", values: { passed: true } } });
    expect(received).toEqual(["1 wait"]);
  });

  it("stops what it called when it ends its session at another server; only its owner finds the session", async () => {
    const both = await start();
    const { client: mcp, transport } = await connect(both);
    const calling = gated(mcp, "two-ended").catch((error: unknown) => error);
    await expect.poll(() => running(both[0])).toBe(1);
    const session = transport.sessionId ?? "";
    const list = (at: TestServer, key: string): Promise<Response> =>
      at.send(
        "POST",
        "/mcp",
        { jsonrpc: "2.0", id: 90, method: "tools/list" },
        {
          accept: "application/json, text/event-stream",
          "x-api-key": key,
          "mcp-session-id": session,
        },
      );
    expect(await Promise.all(both.map(async (at) => (await list(at, keys.bob)).status))).toEqual([404, 404]);
    expect(await Promise.all(both.map(async (at) => (await list(at, keys.ada)).status))).toEqual([200, 200]);
    await transport.terminateSession();
    await expect.poll(() => running(both[0])).toBe(0);
    expect(await Promise.all(both.map(async (at) => (await list(at, keys.ada)).status))).toEqual([404, 404]);
    await mcp.close();
    expect(await calling).toBeInstanceOf(Error);
  });

  it("gets the result of a call, whose server has ended, at another one that goes on with it", async () => {
    const both = await start();
    const { client: mcp } = await connect(both);
    const calling = gated(mcp, "two-stopped");
    await expect.poll(() => running(both[0])).toBe(1);
    await both[0].close();
    openGate("two-stopped");
    expect(await calling).toMatchObject({ structuredContent: { status: "success", values: { passed: true } } });
    expect(await servers.query("SELECT count(*)::int AS runs FROM runs")).toEqual([{ runs: 1 }]);
  });

  it("is asked once, if its server ends before the answer", async () => {
    const both = await start();
    const asked: PromiseWithResolvers<ElicitResult>[] = [];
    const { client: mcp } = await connect(both, () => {
      const question = Promise.withResolvers<ElicitResult>();
      asked.push(question);
      return question.promise;
    });
    const calling = mcp.callTool({ name: "asker", arguments: {} });
    await expect.poll(() => asked.length).toBe(1);
    await both[0].close();
    const taken = "SELECT count(*)::int AS calls FROM mcp_messages JOIN servers ON id = server";
    await expect.poll(() => servers.query(taken)).toEqual([{ calls: 1 }]);
    asked[0]?.resolve({ action: "accept", content: { answer: "later" } });
    expect(await calling).toMatchObject({ structuredContent: { status: "success", values: { answer: "later" } } });
    expect(asked).toHaveLength(1);
  });

  it("finds no session that was not used for a week, and no message of the day before", async () => {
    const both = await start();
    const { client: mcp, transport } = await connect(both);
    await mcp.callTool({ name: "counter", arguments: { value: 1 } });
    const storage = await servers.open();
    const left = async (): Promise<unknown> =>
      await servers.query(
        "SELECT session_id, count(stream)::int AS messages FROM mcp_sessions LEFT JOIN mcp_messages USING (session_id) GROUP BY 1",
      );
    expect(await storage.mcp?.expire()).toBe(false);
    // The call and its result.
    expect(await left()).toEqual([{ session_id: transport.sessionId, messages: 2 }]);
    await servers.query("UPDATE mcp_messages SET written_at = now() - interval '25 hours'");
    expect(await storage.mcp?.expire()).toBe(true);
    expect(await left()).toEqual([{ session_id: transport.sessionId, messages: 0 }]);
    await servers.query("UPDATE mcp_sessions SET used_at = now() - interval '8 days'");
    expect(await storage.mcp?.expire()).toBe(true);
    expect(await left()).toEqual([]);
  });
});
