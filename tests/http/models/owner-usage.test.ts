import { join } from "node:path";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { UsageLimits } from "@millrace/engine/config/owner-limits";
import { limitsOf } from "@millrace/engine/config/owner-limits";
import { describeSpent, endOf, monthOf, spentLimit } from "@millrace/engine/usage/owner-usage";
import { UsageHandler } from "@millrace/engine/usage/usage-of-run";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const Sums = z.looseObject({ requests: z.number(), total_tokens: z.number(), cost: z.number() });
const Period = Sums.extend({ left: z.object({ tokens: z.number().nullable(), cost: z.number().nullable() }) });
const Usage = z.looseObject({ owner: z.string().nullable(), day: Period, month: Period, days: z.array(Sums) });
const Owners = z.array(Sums.extend({ owner: z.string().nullable() }));
const Thread = z.looseObject({ thread_id: z.string() });
const Values = z.looseObject({
  messages: z.array(
    z.looseObject({
      type: z.string(),
      content: z.string(),
      additional_kwargs: z.looseObject({ end_reason: z.string().optional() }),
    }),
  ),
});

let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  // A user's own graph that asks its model directly.
  process.env["OPENAI_API_KEY"] = "test-key";
  process.env["OPENAI_BASE_URL"] = model.url;
});
afterAll(() => model.close());

const used = { input: 1000, output: 100, cached: 400 };

async function startWith(ownerLimits: Record<string, UsageLimits>, graphs = "langgraph.json"): Promise<TestServer> {
  return await startTestServer({
    graphs: join(projectFolder, graphs),
    model: "openai:gpt-4o",
    openai: { apiKey: "test-key", baseUrl: model.url },
    apiKeys: ["guest", "ann", "admin"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerLimits,
  });
}

/** The requests of one owner. */
function as(server: TestServer, owner: string) {
  const headers = { "x-api-key": `key-of-${owner}` };
  const send = (method: string, path: string, body?: unknown) => server.send(method, path, body, headers);
  const json = async (path: string): Promise<unknown> => (await send("GET", path)).json();
  return {
    send,
    thread: async () => Thread.parse(await (await send("POST", "/threads", {})).json()).thread_id,
    async say(threadId: string, content: string): Promise<z.infer<typeof Values>["messages"]> {
      const input = { messages: [{ role: "user", content }] };
      const body = { assistant_id: "agent", input, context: { mode: "free_work", title: false } };
      return Values.parse(await (await send("POST", `/threads/${threadId}/runs/wait`, body)).json()).messages;
    },
    usage: async (of = "") => Usage.parse(await json(`/usage${of}`)),
    owners: async () => Owners.parse(await json("/usage/owners")),
  };
}

describe("the usage of an owner's model calls", () => {
  it("is shown over all threads to the owner and to admin, and to no other, also after a restart", async () => {
    let server = await startWith({ guest: { tokens_per_day: 10_000, cost_per_month: 1 } });
    try {
      const [guest, ann] = [as(server, "guest"), as(server, "ann")];
      for (const owner of [guest, guest, ann]) {
        model.push({ text: "Hello there.", usage: used });
        await owner.say(await owner.thread(), "Hello");
      }
      // By the price that the server knows: a price of the run is not used.
      const cost = 2 * ((1000 * 2.5 + 100 * 10) / 1e6);
      const sums = { requests: 2, input_tokens: 2000, output_tokens: 200, total_tokens: 2200, cached_tokens: 800 };
      const usage = await guest.usage();
      expect(usage).toMatchObject({
        owner: "guest",
        day: { ...sums, limits: { tokens: 10_000, cost: null }, left: { tokens: 7_800, cost: null } },
        month: { ...sums, limits: { tokens: null, cost: 1 } },
        days: [sums],
      });
      expect(usage.day.cost).toBeCloseTo(cost);
      expect(usage.month.left.cost).toBeCloseTo(1 - cost);
      expect(await ann.usage()).toMatchObject({ day: { requests: 1, left: { tokens: null, cost: null } } });
      expect((await ann.send("GET", "/usage?owner=guest")).status).toBe(403);
      expect(await ann.owners()).toMatchObject([{ owner: "ann", requests: 1 }]);
      expect((await server.send("GET", "/usage")).status).toBe(401);
      await server.close();
      server = await server.restart();
      const admin = as(server, "admin");
      expect(await admin.usage("?owner=guest")).toMatchObject({ owner: "guest", day: sums });
      expect(await admin.owners()).toMatchObject([
        { owner: "guest", ...sums },
        { owner: "ann", requests: 1 },
      ]);
      const page = await admin.send("GET", "/usage/owners?limit=1&offset=1");
      expect(page.headers.get("x-pagination-total")).toBe("2");
      expect(await page.json()).toMatchObject([{ owner: "ann" }]);
      expect(await (await admin.send("GET", "/usage/owners?from=2001-01-01&to=2001-01-31")).json()).toEqual([]);
      expect((await admin.send("GET", "/usage/owners?from=yesterday")).status).toBe(400);
    } finally {
      await server.remove();
    }
  });

  it("is shown by model and day with failures and times, as JSON and as CSV", async () => {
    const server = await startWith({});
    try {
      const [guest, ann] = [as(server, "guest"), as(server, "ann")];
      model.push(
        { fault: { kind: "status", status: 500 } },
        { text: "Hello there.", usage: used },
        { text: "Hello, Ann.", usage: used },
      );
      await guest.say(await guest.thread(), "Hello");
      await ann.say(await ann.thread(), "Hello");
      const Rows = z.array(
        z.looseObject({ mean_duration_ms: z.number().nullable(), mean_first_token_ms: z.number().nullable() }),
      );
      const rowsOf = async (owner: typeof guest, asked = "") =>
        Rows.parse(await (await owner.send("GET", `/usage/models${asked}`)).json());
      const day = new Date().toISOString().slice(0, 10);
      const sums = { requests: 1, input_tokens: 1000, output_tokens: 100, total_tokens: 1100, cached_tokens: 400 };
      const [row, ...others] = await rowsOf(guest);
      expect(row).toMatchObject({ day, model: "openai:gpt-4o", failed: 1, ...sums });
      expect(row?.mean_first_token_ms).toBeLessThanOrEqual(row?.mean_duration_ms ?? 0);
      expect(others).toEqual([]);
      expect(await rowsOf(ann)).toMatchObject([{ failed: 0, ...sums }]);
      expect((await ann.send("GET", "/usage/models?owner=guest")).status).toBe(403);
      const admin = as(server, "admin");
      expect(await rowsOf(admin)).toMatchObject([{ requests: 2, failed: 1, total_tokens: 2200 }]);
      expect(await rowsOf(admin, "?owner=guest")).toMatchObject([{ requests: 1, failed: 1 }]);
      const csv = await (await guest.send("GET", "/usage/models?format=csv")).text();
      expect(csv).toMatch(/^day,model,requests,failed,[^\r]*\r\n"[-\d]{10}","openai:gpt-4o",1,1,1000,100,1100,400,/u);
      expect(await rowsOf(guest, "?from=2001-01-01&to=2001-01-31")).toEqual([]);
      for (const asked of ["?from=2001-01-01&to=2026-01-31", "?from=soon"]) {
        expect((await guest.send("GET", `/usage/models${asked}`)).status).toBe(400);
      }
    } finally {
      await server.remove();
    }
  });

  it("has no owner on a server without keys", async () => {
    const server = await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:gpt-4o",
      openai: { apiKey: "test-key", baseUrl: model.url },
    });
    try {
      model.push({ text: "Hello there.", usage: used });
      const { thread_id } = await server.client.threads.create();
      const input = { messages: [{ role: "user", content: "Hello" }] };
      await server.client.runs.wait(thread_id, "agent", { input, context: { mode: "free_work" } });
      expect(await (await server.send("GET", "/usage")).json()).toMatchObject({ owner: null, day: { requests: 1 } });
      expect(await (await server.send("GET", "/usage/owners")).json()).toMatchObject([{ owner: null, requests: 1 }]);
    } finally {
      await server.remove();
    }
  });
});

describe("a limit of an owner", () => {
  it("ends the turn before the next model call in any thread, with a reason, and loses nothing", async () => {
    let server = await startWith({ "*": { tokens_per_day: 1_000 } });
    try {
      const [guest, ann] = [as(server, "guest"), as(server, "ann")];
      const thread = await guest.thread();
      model.push({ toolCalls: [{ name: "list_files", arguments: {} }], usage: used });
      const messages = await guest.say(thread, "List the files");
      expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
      expect(messages.at(-1)?.additional_kwargs.end_reason).toBe("owner_limit");
      expect(messages.at(-1)?.content).toMatch(
        /limit of 1000 tokens for today is used up \(1100\).* begins anew at .* UTC/u,
      );
      const others = await guest.say(await guest.thread(), "你好，请列出文件");
      expect(others.at(-1)?.content).toContain("今天的 1000 个 token 限额已用完");
      expect(await guest.usage()).toMatchObject({ day: { requests: 1, left: { tokens: 0 } } });
      const metrics = await (await server.send("GET", "/metrics")).text();
      expect(metrics).toContain('millrace_owner_limit_refusals_total{limit="tokens_per_day"} 2');
      expect(metrics).not.toContain("guest");

      model.push({ text: "Hello, Ann.", usage: used });
      expect((await ann.say(await ann.thread(), "Hello")).at(-1)?.content).toBe("Hello, Ann.");
      await server.close();
      server = await server.restart({ ownerLimits: {} });
      model.push({ text: "There are none.", usage: used });
      const later = await as(server, "guest").say(thread, "Go on");
      expect(later.map(({ content }) => content)).toEqual(
        expect.arrayContaining(["List the files", "There are none."]),
      );
      expect(model.unexpected).toEqual([]);
    } finally {
      await server.remove();
    }
  });

  it("fails a run of a graph that asks its model directly, which continues when the limit allows it", async () => {
    let server = await startWith({ guest: { tokens_per_month: 1000 } }, "tests/fixtures/package/kit/langgraph.json");
    try {
      const guest = as(server, "guest");
      const start = async (input: unknown, id: string) => {
        const response = await as(server, "guest").send("POST", `/threads/${id}/runs/wait`, {
          assistant_id: "helper",
          input,
        });
        return await response.json();
      };
      const words = (content: string) => ({ messages: [{ role: "user", content }] });
      model.push({ text: "Hello.", usage: used });
      await start(words("Hello"), await guest.thread());
      expect(await guest.usage()).toMatchObject({ month: { requests: 1, total_tokens: 1100, left: { tokens: 0 } } });
      const thread = await guest.thread();
      expect(await start(words("Once more"), thread)).toMatchObject({
        __error__: {
          error: "quota",
          message: expect.stringMatching(/limit of 1000 tokens for this month is used up/u),
        },
      });
      await server.close();
      server = await server.restart({ ownerLimits: {} });
      model.push({ text: "Here I am.", usage: used });
      const values = Values.parse(await start(null, thread));
      expect(values.messages.map(({ content }) => content)).toEqual(["Once more", "Here I am."]);
      expect(model.unexpected).toEqual([]);
    } finally {
      await server.remove();
    }
  });
});

it("usage includes the models of users' own graphs, however they are called and streamed", async () => {
  const server = await startWith({}, "tests/fixtures/graphs/asking-models.json");
  try {
    const guest = as(server, "guest");
    for (const stream_mode of ["values", "messages-tuple", "events"]) {
      model.push(...Array.from({ length: 4 }, () => ({ text: "Hello.", usage: used })));
      const body = { assistant_id: "asking", input: { messages: [{ role: "user", content: "Hello" }] }, stream_mode };
      const path = `/threads/${await guest.thread()}/runs/stream`;
      expect(await (await guest.send("POST", path, body)).text()).toContain("Hello.");
    }
    expect(await guest.usage()).toMatchObject({ day: { requests: 12, total_tokens: 12 * 1100 } });
    const rows = await (await guest.send("GET", "/usage/models")).json();
    expect(rows).toMatchObject([{ model: expect.stringContaining("openai:"), requests: 12, failed: 0 }]);
  } finally {
    await server.remove();
  }
});

it("usage includes the cost of a model in a user's own graph, if its price is known", async () => {
  const counted: unknown[] = [];
  const account = {
    hasLimits: false,
    spent: async () => undefined,
    count: async (usage: object) => void counted.push(usage),
    countFailure: async (name: string) => void counted.push(name),
  };
  const priceOf = (vendor: string, name: string) =>
    `${vendor}:${name}` === "openai:gpt-4o" ? { input: 2.5, output: 10 } : undefined;
  for (const name of ["gpt-4o", "unknown"]) {
    model.push({ text: "Hello.", usage: used });
    await new ChatOpenAI({ model: name, callbacks: [new UsageHandler(account, priceOf)] }).invoke("Hello");
  }
  const tokens = { input_tokens: 1000, output_tokens: 100, cached_tokens: 400 };
  const times = { duration_ms: expect.any(Number), first_token_ms: null };
  expect(counted).toEqual([
    { ...tokens, cost: 0.0035, model: "openai:gpt-4o", ...times },
    { ...tokens, cost: 0, model: "openai:unknown", ...times },
  ]);
  model.push({ fault: { kind: "status", status: 401 } });
  const failing = new ChatOpenAI({ model: "gpt-4o", callbacks: [new UsageHandler(account, priceOf)] });
  await expect(failing.invoke("Hello")).rejects.toThrow("401");
  expect(counted.slice(2)).toEqual(["openai:gpt-4o"]);
});

describe("the limits of owners", () => {
  it.each([
    ["guest:tokens_per_day=10 cost_per_month=0.5", { guest: { tokens_per_day: 10, cost_per_month: 0.5 } }],
    ["a:cost_per_day=1, *:tokens_per_month=5", { a: { cost_per_day: 1 }, "*": { tokens_per_month: 5 } }],
    ["https://id.example.org/7:cost_per_day=0", { "https://id.example.org/7": { cost_per_day: 0 } }],
  ])("are read: %s", (text, limits) => {
    expect(loadConfig({ MILLRACE_OWNER_LIMITS: text }).ownerLimits).toEqual(limits);
  });

  it.each([
    "guest",
    "guest:",
    "guest:tokens=5",
    "guest:tokens_per_day=-1",
    "guest:cost_per_day=1 cost_per_day=2",
    ":cost_per_day=1",
  ])("are refused with a description of the format: %s", (text) => {
    expect(() => loadConfig({ MILLRACE_OWNER_LIMITS: text })).toThrow(
      /MILLRACE_OWNER_LIMITS: entry 1: expected owner:limit=number/u,
    );
  });

  it("are the owner's own, or else those for everyone", () => {
    const limits = { guest: { cost_per_day: 1 }, "*": { cost_per_day: 2 } };
    expect(["guest", "user:guest", "ann", ""].map((owner) => limitsOf(limits, owner).cost_per_day)).toEqual([
      1, 1, 2, 2,
    ]);
    expect(limitsOf({ guest: {} }, "constructor")).toEqual({});
  });

  it("use the calendar in UTC", () => {
    const [winter, spring] = [Date.parse("2026-12-31T23:59:59.999Z"), Date.parse("2028-02-29T00:00:00Z")];
    expect([endOf("day", winter), endOf("month", winter)]).toEqual(Array(2).fill("2027-01-01T00:00:00.000Z"));
    expect([endOf("day", spring), endOf("month", spring)]).toEqual(Array(2).fill("2028-03-01T00:00:00.000Z"));
    expect(monthOf("2028-02-29")).toEqual({ from: "2028-02-01", to: "2028-02-31" });
  });

  const sums = { requests: 1, input_tokens: 80, output_tokens: 20, cached_tokens: 0, cost: 3 };
  it.each([
    [{ tokens_per_day: 101 }, undefined],
    [{ tokens_per_day: 100 }, "tokens_per_day"],
    [{ tokens_per_day: 0 }, "tokens_per_day"],
    [{ cost_per_day: 1, cost_per_month: 300 }, "cost_per_day"],
    // The longest one says when requests are possible again.
    [{ tokens_per_day: 1, cost_per_month: 3 }, "cost_per_month"],
  ])("find the exceeded one: %j", (limits, name) => {
    const time = Date.parse("2026-03-15T12:00:00Z");
    const spent = spentLimit(limits, { day: sums, month: sums, days: [] }, time);
    expect(spent?.name).toBe(name);
    if (spent !== undefined)
      expect(Object.values(describeSpent(spent)).every((text) => text.includes("2026-0"))).toBe(true);
  });
});
