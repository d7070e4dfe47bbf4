import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { ModelRequest } from "@millrace/testing/model-server";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

interface Section {
  name: string;
  token_count: number;
  is_error: boolean;
  content: string | null;
  children: Section[];
}
const Section: z.ZodType<Section> = z.object({
  name: z.string(),
  token_count: z.number(),
  is_error: z.boolean(),
  content: z.string().nullable(),
  get children() {
    return z.array(Section);
  },
});
const Shown = z.object({
  thread_id: z.string(),
  copied_from: z.string().nullable(),
  last_call: z
    .looseObject({
      call: z.string(),
      model: z.string(),
      is_exact: z.boolean(),
      request: z.looseObject({ messages: z.array(z.looseObject({})), tools: z.array(z.looseObject({})).optional() }),
    })
    .nullable(),
  usage: z.object({ tokens: z.number(), limit: z.number(), ratio: z.number(), level: z.string() }),
  budget: z.object({
    remaining: z.number(),
    allocations: z.array(z.object({ category: z.string(), tokens: z.number(), is_refused: z.boolean() })),
  }),
  sections: z.array(Section),
});

let fixture: SessionFixture;
afterEach(() => fixture.close());

const read = async (id: string, query = ""): Promise<z.infer<typeof Shown>> =>
  Shown.parse(await (await fixture.server.send("GET", `/threads/${id}/context${query}`)).json());
const human = (content: string) => ({ messages: [{ role: "user", content }] });
const run = (id: string, words: string, context: object = { mode: "free_work" }): Promise<unknown> =>
  fixture.server.client.runs.wait(id, "agent", { input: human(words), context: { ...context } });

/** The text of the answer itself, since the comparison is about bytes. */
async function expectSent(id: string, request: ModelRequest | undefined, query = ""): Promise<void> {
  const text = await (await fixture.server.send("GET", `/threads/${id}/context${query}`)).text();
  const { messages, tools } = z
    .object({ messages: z.unknown(), tools: z.unknown().optional() })
    .parse(JSON.parse(request?.raw ?? "null"));
  expect(text).toContain(`"messages":${JSON.stringify(messages)}`);
  if (tools !== undefined) expect(text).toContain(`"tools":${JSON.stringify(tools)}`);
  expect(text.includes('"tools":[')).toBe(tools !== undefined);
}

const byName = (sections: Section[], name: string): Section => {
  const found = sections.find((section) => section.name === name);
  if (found === undefined) throw new Error(`no section ${name}`);
  return found;
};

describe("GET /threads/:id/context", () => {
  it("returns byte for byte the last request to the model, with tools and their results", async () => {
    fixture = await startSessions();
    const { thread_id: id } = await fixture.server.client.threads.create();
    fixture.model.push(
      { text: "First.", reasoning: "hm" },
      { toolCalls: [{ name: "read_file", arguments: { path: "no-such.txt" } }] },
      { text: "There is no such file. 没有。" },
    );
    await run(id, "hello");
    await run(id, "read no-such.txt, 请");
    await expectSent(id, fixture.model.requests[2]);
    const { last_call, sections, usage, budget } = await read(id);
    expect(last_call).toMatchObject({ call: "free_work", model: "openai:scripted", is_exact: true });
    expect(sections.map(({ name }) => name)).toEqual([
      "system_prompt",
      "documentation",
      "implicit_context",
      "tools",
      "message_history",
    ]);
    const history = byName(sections, "message_history");
    expect(history.children.map(({ name, is_error }) => [name, is_error])).toEqual([
      ["user", false],
      ["assistant", false],
      ["user", false],
      ["assistant", false],
      ["tool", true],
    ]);
    expect(sections.filter(({ is_error }) => is_error).map(({ name }) => name)).toEqual(["message_history"]);
    const system = byName(sections, "system_prompt").children;
    expect(system.map(({ name }) => name).slice(0, 2)).toEqual(["identity", "task"]);
    expect(system.map(({ content }) => content).join("")).toBe(last_call?.request.messages[0]?.["content"]);
    expect(byName(sections, "tools").children.map(({ name }) => name)).toContain("read_file");
    const total = sections.reduce((sum, { token_count }) => sum + token_count, 0);
    expect(usage).toEqual({ tokens: total, limit: 128_000, ratio: total / 128_000, level: "normal" });
    const taken = Object.fromEntries(budget.allocations.map(({ category, tokens }) => [category, tokens]));
    expect(taken).toMatchObject({ output_reserve: 38_400, user_input: history.children[2]?.token_count });
    const { system: head = 0, user_input = 0, history: before = 0 } = taken;
    expect(head + user_input + before).toBe(total);
    expect(before + user_input).toBe(history.token_count);
    expect(budget.remaining).toBe(128_000 - 38_400 - total);
    for (const section of sections) {
      const inside = section.children.reduce((sum, { token_count }) => sum + token_count, 0);
      expect(section.token_count).toBe(inside);
    }
  });

  it("returns it after a restart, and after a change of the session", async () => {
    fixture = await startSessions();
    const id = await fixture.talk("one", "two");
    const sent = fixture.model.requests.at(-1);
    const messages = await fixture.messages(id);
    await fixture.json("POST", `/threads/${id}/messages`, { messages: [{ role: "user", content: "another" }] });
    await fixture.server.close();
    fixture.server = await fixture.server.restart();
    await expectSent(id, sent);
    expect(messages).toHaveLength(4);
  });

  it("returns it after compaction, and with `call` the request to the summariser", async () => {
    fixture = await startSessions();
    const id = await fixture.talk("one", "two", "three");
    fixture.model.push({ text: JSON.stringify({ goal: "count", completed: ["one"] }) }, { text: "Done." });
    await run(id, "four", { mode: "reply", compress: true });
    const [summariser, answer] = fixture.model.requests.slice(-2);
    await expectSent(id, answer);
    await expectSent(id, summariser, "?call=compress");
    expect(JSON.stringify(await read(id))).toContain("Summary of the earlier conversation");
    expect((await read(id, "?call=compress")).last_call?.call).toBe("compress");
    expect((await read(id, "?call=plan")).last_call).toBeNull();
  });

  it("returns the request for the rest if a reply was continued", async () => {
    fixture = await startSessions();
    const { thread_id: id } = await fixture.server.client.threads.create();
    fixture.model.push({ text: "It begins ", finishReason: "length" }, { text: "and ends." });
    await run(id, "tell me", { mode: "reply" });
    expect(fixture.model.requests).toHaveLength(2);
    await expectSent(id, fixture.model.requests[1]);
  });

  it("has the format of the provider that was asked", async () => {
    fixture = await startSessions();
    await fixture.server.close();
    const ollama = { ollamaBaseUrl: fixture.model.ollamaUrl, model: "ollama:qwen2.5:7b" };
    fixture.server = await fixture.server.restart(ollama);
    const { thread_id: id } = await fixture.server.client.threads.create();
    fixture.model.push({ toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] }, { text: "Read." });
    await mkdir(fixture.server.config.workspace, { recursive: true });
    await writeFile(join(fixture.server.config.workspace, "a.txt"), "alpha");
    await run(id, "read a.txt");
    expect(fixture.model.requests[1]?.protocol).toBe("ollama");
    await expectSent(id, fixture.model.requests[1]);
  });

  it("contains the rules that became applicable during the run", async () => {
    fixture = await startSessions();
    const { thread_id: id } = await fixture.server.client.threads.create();
    const { workspace, dataDir } = fixture.server.config;
    await mkdir(join(workspace, ".autocoderrules"), { recursive: true });
    await writeFile(join(workspace, "code.py"), "a = 1");
    const library = join(dataDir, "library-docs/repository/github.com/ann/fastlib");
    for (const folder of [library, join(workspace, ".autocodertools")]) await mkdir(folder, { recursive: true });
    const projects = { [workspace]: ["ann/fastlib"] };
    await writeFile(join(dataDir, "library-docs/libraries.json"), JSON.stringify({ projects }));
    await writeFile(join(library, "a.md"), "Call fast().");
    await writeFile(join(workspace, ".autocodertools", "count.sh"), "# Description: Counts words");
    await writeFile(join(workspace, ".autocoderrules", "python.md"), "---\nglobs: '**/*.py'\n---\nUse snake_case.");
    fixture.model.push({ toolCalls: [{ name: "read_file", arguments: { path: "code.py" } }] }, { text: "Read." });
    await run(id, "look around");
    const [before, after] = fixture.model.requests.map(({ raw }) => raw.includes("Use snake_case."));
    expect([before, after]).toEqual([false, true]);
    await expectSent(id, fixture.model.requests[1]);
    const { sections } = await read(id);
    expect(JSON.stringify(sections)).toContain("Use snake_case.");
    // Libraries, the user's own programs, rules; each has a source (CTX-02).
    const { children } = byName(sections, "documentation");
    expect(children.map(({ name }) => name)).toEqual(["user", "assistant", "user", "assistant", "user", "assistant"]);
    for (const [at, words] of ["Call fast().", "Counts words", "python.md"].entries()) {
      expect(children[at * 2]?.content).toContain(words);
    }
    expect(byName(sections, "message_history").children[0]?.content).toBe("look around");
  });

  it("contains the run's settings: the length of the reply, and the tool protocol", async () => {
    fixture = await startSessions();
    const { thread_id: id } = await fixture.server.client.threads.create();
    fixture.model.push({ text: "Nothing to do." });
    await run(id, "look around", { mode: "free_work", tool_protocol: "text", max_tokens: 77 });
    const sent = fixture.model.requests[0];
    expect(JSON.parse(sent?.raw ?? "{}")).toMatchObject({ max_tokens: 77 });
    await expectSent(id, sent);
    expect((await read(id)).last_call).toMatchObject({ is_exact: true, request: { max_tokens: 77 } });
  });

  it("says so when the server can no longer use that model", async () => {
    fixture = await startSessions();
    const id = await fixture.talk("hello");
    await fixture.server.close();
    fixture.server = await fixture.server.restart({ openai: loadConfig({}).openai });
    const { last_call } = await read(id);
    expect(last_call).toMatchObject({ is_exact: false });
    expect(JSON.stringify(last_call?.request.messages)).toContain("hello");
  });

  it("of the offline model is what it received", async () => {
    fixture = await startSessions({ model: "offline" });
    const { thread_id: id } = await fixture.server.client.threads.create();
    await run(id, "hello there", {});
    expect((await read(id)).last_call).toMatchObject({ is_exact: true, model: "offline" });
    expect(JSON.stringify(await read(id))).toContain("hello there");
  });

  it("of a copy names the source thread, until the copy has asked a model", async () => {
    fixture = await startSessions();
    const id = await fixture.talk("hello", "again");
    const [message] = await fixture.messages(id);
    const idOf = (thread: unknown): string => z.looseObject({ thread_id: z.string() }).parse(thread).thread_id;
    const fork = async (from: string): Promise<string> =>
      idOf(await fixture.json("POST", `/threads/${from}/fork`, { message_id: message?.id }));
    const copied = idOf(await fixture.server.client.threads.copy(id));
    expect(await read(await fork(copied))).toMatchObject({ copied_from: copied });
    const file = await fixture.json("GET", `/threads/${copied}/export?format=json`);
    expect(JSON.stringify(file)).not.toContain("copied_from");
    const ids = [copied, await fork(id)];
    for (const one of ids) {
      expect(await read(one)).toMatchObject({ last_call: null, copied_from: id });
      await fixture.say(one, "on");
      expect(await read(one)).toMatchObject({ last_call: { model: "openai:scripted" }, copied_from: null });
    }
  });

  it("is empty before the first call, and visible only to users who see the thread", async () => {
    const keys = ["ada", "bob"].map((name) => ({ owner: name, key: `${name}-key-0123456789` }));
    fixture = await startSessions({ apiKeys: keys });
    const { thread_id: id } = await fixture.server.client.threads.create();
    const as = async (key: string) => {
      const response = await fixture.server.send("GET", `/threads/${id}/context`, undefined, { "x-api-key": key });
      return [response.status, await response.text()] as const;
    };
    const [status, text] = await as("ada-key-0123456789");
    expect(status).toBe(200);
    expect(Shown.parse(JSON.parse(text))).toMatchObject({ last_call: null, usage: { tokens: 0, limit: 128_000 } });
    expect((await as("bob-key-0123456789"))[0]).toBe(404);
  });
});
