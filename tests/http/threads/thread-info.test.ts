import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const Page = z.object({
  threads: z.array(z.looseObject({ thread_id: z.string(), name: z.string() })),
  next: z.number().nullable(),
});
const list = async (body: object): Promise<z.infer<typeof Page>> =>
  Page.parse(await fixture.json("POST", "/threads/info/search", body));
const info = (id: string): Promise<unknown> => fixture.json("GET", `/threads/${id}/info`);

describe("GET /threads/:id/info", () => {
  it("of a new thread has the default name and no content", async () => {
    const { thread_id: id, created_at } = await fixture.server.client.threads.create();
    expect(await info(id)).toEqual({
      thread_id: id,
      name: `Chat ${created_at.slice(0, 10)} ${created_at.slice(11, 16)}`,
      name_source: "default",
      description: null,
      work_mode: null,
      status: "idle",
      created_at,
      updated_at: created_at,
      message_count: 0,
      preview: "",
      last_words: "",
      has_partial_response: false,
      forked_from: null,
      graph_id: null,
      assistant_id: null,
      pinned: false,
      archived: false,
      read_at: null,
      unread_since: null,
      context_usage: { tokens: 0, limit: 128_000, ratio: 0, compress_button_state: "normal" },
      active_suggestion_message_id: null,
      conversation_rounds: 0,
      total_usage: { input_tokens: 0, output_tokens: 0, cost: null },
    });
  });

  it("of a thread created for a project and a mode has them before any message (SESS-01)", async () => {
    const values = { project_root: "/projects/amplifier", work_mode: "workflow" };
    const { thread_id: id } = await fixture.server.client.threads.create({
      graphId: "agent",
      supersteps: [{ updates: [{ values, asNode: "free_work" }] }],
    });
    expect((await fixture.server.client.threads.getState(id)).values).toMatchObject({ ...values, messages: [] });
    expect(await info(id)).toMatchObject({ work_mode: "workflow", message_count: 0, status: "idle" });
  });

  it("has a title and a preview from the first message, and the size of the context", async () => {
    const words = "Tell me a story about a lighthouse keeper who counts the ships. Make it short.";
    const id = await fixture.talk(words, "and another one");
    expect(await info(id)).toMatchObject({
      name: "Tell me a story about a lighthouse…",
      name_source: "first_message",
      work_mode: "free_chat",
      message_count: 4,
      preview: words.slice(0, 50),
      last_words: "re: and another one",
      conversation_rounds: 2,
      context_usage: { tokens: expect.any(Number), limit: 128_000, compress_button_state: "normal" },
    });
    const title = await fixture.json("GET", `/threads/${id}/status`);
    expect(title).toMatchObject({ can_send: true });
  });

  it("has a warning when the context is nearly full, by the limit of the model", async () => {
    const small = await startSessions({ contextLimit: 1000 });
    const id = await small.talk("hello");
    const state = async (tokens: number): Promise<unknown> => {
      await small.json("POST", `/threads/${id}/messages`, {
        messages: [{ role: "user", content: "x".repeat(tokens * 4) }],
      });
      const Info = z.looseObject({ context_usage: z.object({ compress_button_state: z.string() }) });
      return Info.parse(await small.json("GET", `/threads/${id}/info`)).context_usage.compress_button_state;
    };
    expect([await state(300), await state(350), await state(200)]).toEqual(["normal", "warning", "critical"]);
    await small.close();
  });

  it("exists for a thread of another graph, and for one without messages", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create({
      metadata: { name: "Mine", description: "About" },
    });
    expect(await info(id)).toMatchObject({ name: "Mine", description: "About", name_source: "given" });
    expect((await fixture.ask("GET", `/threads/${crypto.randomUUID()}/info`))[0]).toBe(404);
  });
});

describe("a thread's name", () => {
  it("is what it is renamed to, until the name is reset", async () => {
    const id = await fixture.talk("hello rename");
    const path = `/threads/${id}/info`;
    expect(await fixture.json("PATCH", path, { name: "  灯塔 plan " })).toMatchObject({
      name: "灯塔 plan",
      name_source: "given",
    });
    expect(await fixture.server.client.threads.get(id)).toMatchObject({
      metadata: { name: "灯塔 plan", graph_id: "agent" },
    });
    expect(await fixture.json("PATCH", path, { description: "What we do" })).toMatchObject({
      name: "灯塔 plan",
      description: "What we do",
    });
    expect(await fixture.json("PATCH", path, { name: null })).toMatchObject({
      name: "hello rename",
      description: "What we do",
    });
  });

  it.each([{ name: "" }, { name: "  " }, { name: "a\nb" }, { name: "x".repeat(201) }, { name: 7 }])(
    "is not %j",
    async (body) => {
      const id = await fixture.talk("hello names");
      expect((await fixture.ask("PATCH", `/threads/${id}/info`, body))[0]).toBe(400);
      expect(await info(id)).toMatchObject({ name: "hello names" });
    },
  );
});

describe("a title from a model", () => {
  it("arrives after the reply, and a name that a user has set overrides it", async () => {
    const titled = await startSessions({ titleModel: "openai:scripted" });
    const id = await titled.talk();
    titled.model.push({ text: "re: hello" }, { text: "Title: *Stories of the sea*" });
    const input = { messages: [{ role: "user", content: "hello" }] };
    await titled.server.client.runs.wait(id, "agent", { input, context: { mode: "reply" } });
    const info = (): Promise<unknown> => titled.json("GET", `/threads/${id}/info`);
    await expect.poll(info).toMatchObject({ name: "Stories of the sea", name_source: "model" });
    await titled.say(id, "and more");
    expect(await titled.json("PATCH", `/threads/${id}/info`, { name: "Mine" })).toMatchObject({ name_source: "given" });
    expect(titled.model.requestCount).toBe(3);
    titled.model.assertFinished();
    await titled.close();
  });
});

describe("the list of threads", () => {
  it("is searched by name, description and text, in any case, last changed first, in pages", async () => {
    const mark = `Zebra${crypto.randomUUID().slice(0, 6)}`;
    const byWords = await fixture.talk("hello", `the ${mark} ran`);
    const byName = await fixture.talk("hello");
    await fixture.json("PATCH", `/threads/${byName}/info`, { name: `About ${mark.toUpperCase()}` });
    const byAnswer = await fixture.talk(`say ${mark}`);
    const other = await fixture.talk("hello other");
    await fixture.json("POST", `/threads/${other}/messages`, { messages: [{ role: "system", content: mark }] });
    const all = await list({ query: mark.toLowerCase() });
    expect(all.threads.map(({ thread_id }) => thread_id)).toEqual([byAnswer, byName, byWords]);
    const first = await list({ query: mark, limit: 2 });
    expect(first.threads.map(({ thread_id }) => thread_id)).toEqual([byAnswer, byName]);
    const rest = await list({ query: mark, limit: 2, cursor: first.next });
    expect(rest.threads.map(({ thread_id }) => thread_id)).toEqual([byWords]);
    expect(rest.next).toBeNull();
    expect(await list({ query: `${mark} and more` })).toEqual({ threads: [], next: null });
  });

  it("shows the text around a match, the newest first, also for another Unicode form of a character", async () => {
    const mark = `quail${crypto.randomUUID().slice(0, 6)}`;
    const id = await fixture.talk(
      `${"long ago ".repeat(20)}the ${mark} sang ${"and sang ".repeat(20)}`,
      `ﬁve ${mark}s`,
    );
    const messages = await fixture.messages(id);
    const found = await fixture.json("POST", "/threads/info/search", { query: mark.toUpperCase() });
    const Found = z.object({ threads: z.array(z.looseObject({ hits: z.array(z.record(z.string(), z.string())) })) });
    const [thread] = Found.parse(found).threads;
    expect(thread?.hits).toHaveLength(3);
    expect(thread?.hits[1]).toEqual({
      message_id: messages[2]?.id,
      role: "user",
      before: "ﬁve ",
      match: mark,
      after: "s",
    });
    expect(thread?.hits[2]).toMatchObject({ match: mark, after: expect.stringContaining(" sang and sang ") });
    expect(thread?.hits[2]?.["before"]?.length).toBe(40);
    const named = Found.parse(await fixture.json("POST", "/threads/info/search", { query: "ﬁve" })).threads;
    expect(named.some(({ hits }) => hits.some(({ match }) => match === "ﬁve"))).toBe(true);
  });

  it("filters pinned and archived threads and those of a graph", async () => {
    const metadata = { set: crypto.randomUUID() };
    const make = async (graph: { graphId?: string } = {}): Promise<string> =>
      (await fixture.server.client.threads.create({ metadata, ...graph })).thread_id;
    const [plain, pinned, archived] = [await make(), await make(), await make({ graphId: "agent" })];
    const patch = (id: string, body: object) => fixture.json("PATCH", `/threads/${id}/info`, body);
    expect(await patch(pinned, { pinned: true })).toMatchObject({ pinned: true, archived: false, graph_id: null });
    expect(await patch(archived, { archived: true })).toMatchObject({ archived: true, graph_id: "agent" });
    const ids = async (query: object): Promise<string[]> =>
      (await list({ metadata, ...query })).threads.map(({ thread_id }) => thread_id).toSorted();
    expect(await ids({})).toEqual([plain, pinned, archived].toSorted());
    expect(await ids({ archived: false })).toEqual([plain, pinned].toSorted());
    expect(await ids({ archived: true })).toEqual([archived]);
    expect(await ids({ pinned: true })).toEqual([pinned]);
    expect(await ids({ graph_id: "agent" })).toEqual([archived]);
    await patch(archived, { archived: null });
    expect(await ids({ archived: true })).toEqual([]);
    const wrong = await fixture.server.send("PATCH", `/threads/${plain}/info`, { pinned: "yes" });
    expect(wrong.status).toBe(400);
  });

  it("shows which threads have changed since they were read; a new name or pin is no change", async () => {
    const id = await fixture.talk("Tell me a story");
    expect(await info(id)).toMatchObject({ read_at: null, unread_since: null });
    const { updated_at } = await fixture.server.client.threads.get(id);
    const patch = (body: object) => fixture.json("PATCH", `/threads/${id}/info`, body);
    const read_at = updated_at;
    expect(await patch({ read_at })).toMatchObject({ read_at, unread_since: null, updated_at });
    expect(await patch({ name: "Tales", pinned: true })).toMatchObject({ unread_since: null, updated_at });
    await fixture.say(id, "Go on");
    expect(await info(id)).toMatchObject({ read_at, unread_since: read_at });
    const [listed] = (await list({ query: "Tales" })).threads;
    expect(listed).toMatchObject({ thread_id: id, unread_since: read_at });
    expect(await patch({ read_at: "2999-01-01T00:00:00+08:00" })).toMatchObject({ unread_since: null });
    expect((await fixture.server.send("PATCH", `/threads/${id}/info`, { read_at: "today" })).status).toBe(400);
  });

  it("without a query returns all pages of the filtered threads", async () => {
    const metadata = { set: crypto.randomUUID() };
    const made: string[] = [];
    for (let index = 0; index < 45; index += 1) {
      made.unshift((await fixture.server.client.threads.create({ metadata })).thread_id);
    }
    const seen: string[] = [];
    let cursor: number | null = 0;
    let pages = 0;
    while (cursor !== null) {
      const page: z.infer<typeof Page> = await list({ metadata, limit: 20, cursor, sort_by: "created_at" });
      seen.push(...page.threads.map(({ thread_id }) => thread_id));
      cursor = page.next;
      pages += 1;
    }
    expect([seen, pages]).toEqual([made, 3]);
    expect(await list({ metadata, status: "busy" })).toEqual({ threads: [], next: null });
  });
});
