import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createLogger } from "@millrace/engine/logger";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer } from "../../support/test-server.ts";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Shown = z.looseObject({ id: z.string(), role: z.string(), content: z.string() });
const Page = z.object({ messages: z.array(Shown), total: z.number(), before: z.string().nullable() });
const page = async (id: string, query = ""): Promise<z.infer<typeof Page>> =>
  Page.parse(await fixture.json("GET", `/threads/${id}/messages${query}`));
const wordsOf = ({ messages }: z.infer<typeof Page>): string[] => messages.map(({ content }) => content);

describe("the messages of a thread", () => {
  it("are listed in pages from the end, with roles, and one is found by its id or 8 first characters", async () => {
    const id = await fixture.talk("hello one", "hello two", "hello three");
    const last = await page(id, "?limit=4");
    expect(wordsOf(last)).toEqual(["hello two", "re: hello two", "hello three", "re: hello three"]);
    expect(last.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
    expect(last.total).toBe(6);
    const first = await page(id, `?limit=4&before=${last.before}`);
    expect([wordsOf(first), first.before]).toEqual([["hello one", "re: hello one"], null]);
    const ids = ["1aaaaaaa-one", "1aaaaaaa-two", "2bbbbbbb-one"];
    await fixture.json("POST", `/threads/${id}/messages`, {
      messages: ids.map((own) => ({ id: own, role: "user", content: own })),
    });
    for (const name of [ids[2], "2bbbbbbb", "1aaaaaaa-o", "1aaaaaaa-one"]) {
      const found = Shown.parse(await fixture.json("GET", `/threads/${id}/messages/${name}`));
      expect(found.id.startsWith(name ?? "")).toBe(true);
    }
    for (const [name, reason] of [
      ["00000000", "not found"],
      ["2bbbbbb", "not found"],
      ["1aaaaaaa", "several"],
    ]) {
      const refused = await fixture.ask("GET", `/threads/${id}/messages/${name}`);
      expect(refused).toEqual([404, expect.stringContaining(reason ?? "")]);
    }
  });

  it("contain the user's input as soon as the run works, before any reply (CTX-01)", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    fixture.model.push({ text: "at last", hold: { after: 0, until: answered } });
    const asked = fixture.model.requestCount + 1;
    const run = await fixture.server.client.runs.create(id, "agent", {
      input: { messages: [{ role: "user", content: "hello at once" }] },
      context: { mode: "reply" },
    });
    await expect.poll(() => fixture.model.requestCount).toBe(asked);
    expect(wordsOf(await page(id))).toEqual(["hello at once"]);
    answer();
    await fixture.server.client.runs.join(id, run.run_id);
    expect(wordsOf(await page(id))).toEqual(["hello at once", "at last"]);
  });

  it("contain the usage of the model calls, which is stored with their messages", async () => {
    const id = await fixture.talk("hello cost");
    const { messages } = await page(id);
    expect(messages[1]).toMatchObject({
      llm_metadata: { model_name: "openai:scripted", conversation_round: 1, input_tokens: expect.any(Number) },
      usage: { total_tokens: expect.any(Number), cached_tokens: 0 },
    });
    expect(messages[1]?.["timestamp"]).toMatch(/^\d{4}-/u);
  });

  it("contain their importance, and the state of their suggestions, also when one is changed or added", async () => {
    const id = await fixture.talk("hello goals");
    const asks = { suggestions: ["Yes", "No"] };
    const given = { role: "assistant", id: "given-goals", content: "Design goals: 20 dB", additional_kwargs: asks };
    const messages = [given, { role: "user", id: "given-yes", content: "Yes" }];
    const added = await fixture.json("POST", `/threads/${id}/messages`, { messages });
    expect(added).toMatchObject([{ importance: "HIGH", suggestions: { state: "selected" } }, { importance: "HIGH" }]);
    const changed = await fixture.json("PATCH", `/threads/${id}/messages/given-goals`, { metadata: { seen: true } });
    expect(changed).toMatchObject({ id: "given-goals", importance: "HIGH", suggestions: { state: "selected" } });
    const shown = (await page(id)).messages.map(({ importance }) => importance);
    expect(shown).toEqual(["LOW", "LOW", "HIGH", "HIGH"]);
    const last = await page(id, "?limit=1&before=given-yes");
    expect(last.messages).toMatchObject([{ id: "given-goals", suggestions: { state: "selected" } }]);
  });

  it("are added without a run, in either form, and are sent to the model in the next turn", async () => {
    const id = await fixture.talk("hello there");
    const added = z.array(Shown).parse(
      await fixture.json("POST", `/threads/${id}/messages`, {
        messages: [
          { role: "user", content: "the code word is heron", timestamp: "2026-01-02T03:04:05.000Z" },
          { type: "ai", content: "noted", additional_kwargs: { reasoning_content: "a bird" } },
        ],
      }),
    );
    expect(added.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const before = await fixture.server.client.threads.getState(id);
    expect(before.next).toEqual([]);
    await fixture.say(id, "which word was it?");
    expect(JSON.stringify(fixture.model.requests.at(-1))).toContain("the code word is heron");
    const all = await page(id);
    expect(all.messages[2]).toMatchObject({ id: added[0]?.id, timestamp: "2026-01-02T03:04:05.000Z" });
    expect(all.messages[3]).toMatchObject({ content: "noted", reasoning: "a bird" });
    expect(all.total).toBe(6);
  });

  it("of a new thread begin with the added ones, and belong to the named graph", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create({ metadata: { name: "Given" } });
    const messages = [
      { role: "system", content: "Answer briefly." },
      { role: "user", content: "hello before" },
      { role: "assistant", content: "hello after" },
    ];
    expect((await fixture.ask("POST", `/threads/${id}/messages`, { messages }))[0]).toBe(409);
    expect((await fixture.ask("POST", `/threads/${id}/messages`, { messages, graph_id: "unknown" }))[0]).toBe(404);
    await fixture.json("POST", `/threads/${id}/messages`, { messages, graph_id: "agent" });
    expect(wordsOf(await page(id))).toEqual(["hello before", "hello after"]);
    expect(wordsOf(await page(id, "?hidden=true"))).toEqual(["Answer briefly.", "hello before", "hello after"]);
    await fixture.say(id, "go on");
    expect((await page(id)).total).toBe(4);
  });

  it("are refused if they are invalid, with the field and the reason", async () => {
    const id = await fixture.talk("hello bad");
    for (const [message, place, reason] of [
      [{ role: "robot", content: "x" }, "role", "expected user, assistant, system or tool"],
      [{ role: "tool", content: "x" }, "tool_call_id", "names the call"],
      [{ role: "user" }, "content", "Invalid input"],
      [
        { role: "user", content: "x", attachments: [{ type: "image", path: "a.gif", name: "a.gif", size: 1 }] },
        "attachments",
        "an image ends with .png",
      ],
      [
        { role: "user", content: "x", attachments: [{ type: "image", path: "a.png", name: "a.png", size: 2e7 }] },
        "attachments",
        "at most 10485760 bytes",
      ],
      [
        { role: "user", content: "x", references: [{ type: "planet", source: "", content: "" }] },
        "references",
        "Invalid",
      ],
    ] as const) {
      const [status, text] = await fixture.ask("POST", `/threads/${id}/messages`, { messages: [message] });
      expect([status, text], JSON.stringify(message)).toEqual([400, expect.stringContaining(place)]);
      expect(text).toContain(reason);
    }
    const twice = { messages: ["a", "b"].map((content) => ({ id: "one-id", role: "user", content })) };
    expect(await fixture.ask("POST", `/threads/${id}/messages`, twice)).toEqual([
      400,
      expect.stringContaining("one-id"),
    ]);
    expect((await page(id)).total).toBe(2);
  });

  it("get a result for every call, so that the list is valid for a strict provider", async () => {
    const id = await fixture.talk("hello calls");
    const call = { id: "call_1", name: "read_file", args: { path: "a.md" } };
    await fixture.json("POST", `/threads/${id}/messages`, {
      messages: [
        { role: "assistant", content: "", tool_calls: [call] },
        { role: "user", content: "never mind" },
      ],
    });
    const { messages } = await page(id);
    expect(messages.slice(-3).map(({ role }) => role)).toEqual(["assistant", "tool", "user"]);
    await fixture.say(id, "hello again");
    fixture.model.assertFinished();
  });
});

describe("a message", () => {
  it("is changed in text, metadata and costs, and keeps its place; the history keeps the old one", async () => {
    const id = await fixture.talk("hello edit");
    const [question, answered] = (await page(id)).messages;
    const path = `/threads/${id}/messages/${answered?.id}`;
    await fixture.json("PATCH", path, { metadata: { stars: 5, by: "ada" } });
    const llm_metadata = {
      model_name: "other",
      input_tokens: 10,
      output_tokens: 20,
      input_cost: 0.1,
      output_cost: 0.2,
    };
    await fixture.json("PATCH", path, { content: "another answer", metadata: { stars: 4 }, llm_metadata });
    const now = await page(id);
    expect(now.messages.map((one) => one.id)).toEqual([question?.id, answered?.id]);
    expect(now.messages[1]).toMatchObject({
      content: "another answer",
      metadata: { stars: 4, by: "ada" },
      llm_metadata,
    });
    expect((await fixture.messages(id))[1]?.additional_kwargs["updated_at"]).toMatch(/^\d{4}-/u);
    const history = await fixture.server.send("GET", `/threads/${id}/history?limit=10`);
    expect(await history.text()).toContain("re: hello edit");
    expect(await fixture.json("GET", `/threads/${id}/info`)).toMatchObject({
      total_usage: { input_tokens: 10, output_tokens: 20, cost: expect.closeTo(0.3) },
    });
    await fixture.say(id, "and now?");
    expect(JSON.stringify(fixture.model.requests.at(-1))).toContain("another answer");
  });

  it("is hidden from the model and shown again by its user; readers always see it", async () => {
    const id = await fixture.talk("a private number", "hello view");
    const path = `/threads/${id}/messages/${(await page(id)).messages[0]?.id}`;
    const asked = () => JSON.stringify(fixture.model.requests.at(-1)?.messages);
    expect(await fixture.json("PATCH", path, { model_view: "hide" })).toMatchObject({ model_view: "hide" });
    await fixture.say(id, "and now?");
    expect(asked()).not.toContain('"a private number"');
    expect(asked()).toContain("hello view");
    expect(wordsOf(await page(id))).toContain("a private number");
    expect(await fixture.json("PATCH", path, { model_view: null })).toMatchObject({ model_view: null });
    await fixture.say(id, "and then?");
    expect(asked()).toContain('"a private number"');
    expect((await fixture.ask("PATCH", path, { model_view: "shown" }))[0]).toBe(400);
  });

  it("is changed in its metadata also if it is longer than an added one may be", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create();
    fixture.model.push({ text: "x".repeat(1_000_001) });
    const input = { messages: [{ role: "user", content: "hello" }] };
    await fixture.server.client.runs.wait(id, "agent", { input, context: { mode: "reply" } });
    const path = `/threads/${id}/messages/${(await page(id)).messages.at(-1)?.id}`;
    const changed = Shown.parse(await fixture.json("PATCH", path, { metadata: { stars: 5 } }));
    expect([changed.content.length, changed["metadata"]]).toEqual([1_000_001, { stars: 5 }]);
  });

  it("with an unknown id is 404, and changes need an idle thread", async () => {
    const id = await fixture.talk("hello idle");
    expect((await fixture.ask("PATCH", `/threads/${id}/messages/${crypto.randomUUID()}`, { content: "x" }))[0]).toBe(
      404,
    );
    const other = await startTestServer();
    const { thread_id: busy } = await other.client.threads.create();
    await other.client.runs.create(busy, "gated", { input: { gate: "messages" } });
    const body = { messages: [{ role: "user", content: "x" }] };
    const whileBusy = await other.send("POST", `/threads/${busy}/messages`, body);
    expect([whileBusy.status, await whileBusy.text()]).toEqual([409, expect.stringContaining("Thread is busy")]);
    openGate("messages");
    const { thread_id: asked } = await other.client.threads.create();
    await other.client.runs.wait(asked, "asker", { input: { answer: "" } });
    const whileAsked = await other.send("DELETE", `/threads/${asked}/messages`);
    expect([whileAsked.status, await whileAsked.text()]).toEqual([409, expect.stringContaining("question waits")]);
    await other.remove();
  });

  it("is deleted with the results of its calls, which cannot be deleted alone; the history keeps them", async () => {
    const id = await fixture.talk("hello delete");
    const calls = ["call_a", "call_b"].map((call) => ({ id: call, name: "read_file", args: { path: "a.md" } }));
    await fixture.json("POST", `/threads/${id}/messages`, {
      messages: [
        { id: "first-call", role: "assistant", content: "", tool_calls: calls.slice(0, 1) },
        { id: "first-result", role: "tool", content: "one", tool_call_id: "call_a" },
        { id: "other-call", role: "assistant", content: "", tool_calls: calls.slice(1) },
        { id: "other-result", role: "tool", content: "two", tool_call_id: "call_b" },
      ],
    });
    const path = (message: string) => `/threads/${id}/messages/${message}`;
    const alone = await fixture.ask("DELETE", path("first-result"));
    expect(alone).toEqual([400, expect.stringContaining("with the message that made the call")]);
    expect(await fixture.json("DELETE", path("first-call"))).toEqual({ removed: ["first-call", "first-result"] });
    expect((await page(id)).messages.map((one) => one.id).slice(2)).toEqual(["other-call", "other-result"]);
    expect((await fixture.ask("DELETE", path("first-call")))[0]).toBe(404);
    const history = await fixture.server.send("GET", `/threads/${id}/history?limit=10`);
    expect(await history.text()).toContain("first-result");
    await fixture.say(id, "and now?");
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).not.toContain("call_a");
  });

  it("list is cleared with a line in the log (CTX-25)", async () => {
    const lines: string[] = [];
    const logger = createLogger("info", { write: (line: string) => void lines.push(line) });
    const graphs = fixture.server.config.graphs;
    const other = await startTestServer({ graphs, model: "offline" }, logger);
    try {
      const { thread_id } = await other.client.threads.create();
      await other.client.runs.wait(thread_id, "agent", { input: { messages: [{ role: "user", content: "hello" }] } });
      await other.send("DELETE", `/threads/${thread_id}/messages`);
      const entries = lines.map((line): unknown => JSON.parse(line));
      expect(entries).toContainEqual(
        expect.objectContaining({ msg: "messages_cleared", session_id: thread_id, removed: 2 }),
      );
    } finally {
      await other.remove();
    }
  });

  it("list is cleared except system messages, and the conversation starts again", async () => {
    const id = await fixture.talk("hello first");
    await fixture.json("POST", `/threads/${id}/messages`, { messages: [{ role: "system", content: "Be kind." }] });
    expect(await fixture.json("DELETE", `/threads/${id}/messages`)).toEqual({ removed: 2 });
    expect(wordsOf(await page(id, "?hidden=1"))).toEqual(["Be kind."]);
    await fixture.say(id, "hello anew");
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).not.toContain("hello first");
    expect(await fixture.json("DELETE", `/threads/${id}/messages?keep_system=no`)).toEqual({ removed: 3 });
    expect((await page(id, "?hidden=1")).total).toBe(0);
  });
});
