import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

let fixture: SessionFixture;
beforeAll(async () => {
  fixture = await startSessions();
});
afterAll(() => fixture.close());

const File = z.looseObject({ messages: z.array(z.looseObject({ id: z.string() })), session_name: z.string() });
const Thread = z.looseObject({ thread_id: z.string(), metadata: z.record(z.string(), z.unknown()) });
const exported = async (id: string, query = ""): Promise<z.infer<typeof File>> =>
  File.parse(await fixture.json("GET", `/threads/${id}/export${query}`));
const imported = async (file: unknown, query = ""): Promise<z.infer<typeof Thread>> =>
  Thread.parse(await fixture.json("POST", `/threads/import${query}`, file));

const time = "2026-01-02T03:04:05.000Z";
const call = { id: "call_1", name: "read_file", args: { path: "a.md" } };
/** A thread with all fields that a message can have. */
async function richThread(): Promise<string> {
  const { thread_id: id } = await fixture.server.client.threads.create({
    metadata: { name: "The lighthouse", description: "A plan", topic: "sea", ui_state: { scroll_position: 12 } },
  });
  await fixture.json("POST", `/threads/${id}/messages`, {
    graph_id: "agent",
    messages: [
      { role: "system", content: "Secret rules.", timestamp: time },
      {
        role: "user",
        content: "Read # a.md",
        timestamp: time,
        attachments: [{ type: "image", path: "p/a.png", name: "a.png", mime_type: "image/png", size: 5 }],
      },
      {
        role: "assistant",
        content: "",
        tool_calls: [call],
        reasoning_content: "it is </details> there",
        timestamp: time,
      },
      { role: "tool", content: "file text", tool_call_id: "call_1", name: "read_file", timestamp: time },
      { role: "user", content: "hidden words", additional_kwargs: { hidden: true, timestamp: time } },
      {
        role: "assistant",
        content: "It says: file text",
        timestamp: time,
        is_partial: true,
        stop_reason: "user_requested",
        web_search_results: [{ title: "Sea", url: "https://example.com/sea" }],
      },
    ],
  });
  return id;
}

describe("an export", () => {
  it("as JSON has the whole conversation, and its import is the same conversation in a new thread", async () => {
    const id = await richThread();
    const file = await exported(id);
    expect(file).toMatchObject({
      format: "millrace.session",
      version: 1,
      session_id: id,
      session_name: "The lighthouse",
      description: "A plan",
      graph_id: "agent",
      message_count: 6,
      metadata: { topic: "sea" },
      ui_state: { scroll_position: 12 },
      summary: null,
      created_at: expect.stringMatching(/^\d{4}-/u),
      updated_at: expect.stringMatching(/^\d{4}-/u),
    });
    expect(file.messages[2]).toMatchObject({ type: "assistant", tool_calls: [call] });
    const copy = await imported(file);
    expect(copy.thread_id).not.toBe(id);
    expect(copy.metadata).toMatchObject({ name: "The lighthouse", topic: "sea", imported_from: id, graph_id: "agent" });
    expect(await fixture.messages(copy.thread_id)).toEqual(await fixture.messages(id));
    const again = await exported(copy.thread_id);
    for (const key of ["session_name", "description", "messages", "metadata", "ui_state"]) {
      if (key === "metadata") expect(again[key]).toEqual({ topic: "sea", imported_from: id });
      else expect(again[key]).toEqual(file[key]);
    }
    await fixture.say(copy.thread_id, "hello after");
    expect(JSON.stringify(fixture.model.requests.at(-1)?.messages)).toContain("It says: file text");
  });

  it("keeps the state of the workflow, and a generated title remains one", async () => {
    const id = await fixture.talk("Plan the week. Now.");
    const state = await fixture.server.client.threads.getState(id);
    const through_message_id = z
      .looseObject({ messages: z.array(z.looseObject({ id: z.string() })) })
      .parse(state.values).messages[0]?.id;
    const lists = { completed: [], todo: ["rest"], attempted_solutions: [], key_decisions: [] };
    const summary = { goal: "the week", current_problem: "", through_message_id, ...lists };
    await fixture.json("POST", `/threads/${id}/state`, {
      values: { conversation_summary: summary, work_mode: "workflow" },
      as_node: "free_work",
    });
    const file = await exported(id);
    expect(file).toMatchObject({ summary, work_mode: "workflow", name_source: "first_message" });
    const copy = await imported(file);
    const values = (await fixture.server.client.threads.getState(copy.thread_id)).values;
    expect(values).toMatchObject({ conversation_summary: summary, work_mode: "workflow" });
    expect(copy.metadata).not.toHaveProperty("name");
    expect(await fixture.json("GET", `/threads/${copy.thread_id}/info`)).toMatchObject({
      name_source: "first_message",
    });
  });

  it("can be rerun after its import, turn by turn", async () => {
    const id = await fixture.talk("hello one", "hello two");
    const copy = await imported(await exported(id));
    const [, , second] = await fixture.messages(copy.thread_id);
    fixture.model.push({ text: "new end" });
    const Run = z.looseObject({ run_id: z.string() });
    const run = Run.parse(
      await fixture.json("POST", `/threads/${copy.thread_id}/messages/${second?.id}/rerun`, { content: "hello 2" }),
    );
    await fixture.server.client.runs.join(copy.thread_id, run.run_id);
    expect((await fixture.messages(copy.thread_id)).map(({ content }) => content)).toEqual([
      "hello one",
      "re: hello one",
      "hello 2",
      "new end",
    ]);
  });

  it("as text has role, time and text, without system and hidden messages; tools only on request", async () => {
    const id = await richThread();
    const response = await fixture.server.send("GET", `/threads/${id}/export?format=text`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("content-disposition")).toBe(`attachment; filename="${id}.txt"`);
    expect(await response.text()).toBe(
      [
        "The lighthouse",
        `[user] ${time}\nRead # a.md\nAttachments: a.png`,
        `[assistant] ${time}`,
        `[assistant] ${time}\nIt says: file text\ncut off (user_requested)\nFound on the web: Sea\n`,
      ].join("\n\n"),
    );
    const [, withTools] = await fixture.ask("GET", `/threads/${id}/export?format=text&tools=yes`);
    expect(withTools).toContain(`[tool] ${time}\nfile text`);
    expect(withTools).toContain('Calls: read_file {"path":"a.md"}');
    expect(withTools).not.toMatch(/Secret|hidden/u);
  });

  it("as Markdown folds reasoning, in the reader's language", async () => {
    const id = await richThread();
    const [status, text] = await fixture.ask("GET", `/threads/${id}/export?format=markdown`, undefined, {
      "accept-language": "zh-CN",
    });
    expect(status).toBe(200);
    expect(text).toContain(`# The lighthouse\n\n## 用户 · ${time}\n\nRead # a.md\n\n- 附件: a.png`);
    expect(text).toContain("<details><summary>思考过程</summary>\n\nit is &lt;/details> there\n\n</details>");
    expect(text).toContain("- 已中断 (user_requested)");
    expect(text).not.toMatch(/Secret|hidden words/u);
  });

  it("of an empty thread is empty, and of an unknown thread 404", async () => {
    const { thread_id: id } = await fixture.server.client.threads.create();
    expect(await exported(id)).toMatchObject({ messages: [], graph_id: null, work_mode: null });
    expect((await fixture.ask("GET", `/threads/${crypto.randomUUID()}/export`))[0]).toBe(404);
    expect((await fixture.ask("GET", `/threads/${id}/export?format=pdf`))[0]).toBe(400);
  });
});

describe("an import", () => {
  const file = {
    format: "millrace.session",
    version: 1,
    graph_id: "agent",
    messages: [{ role: "user", content: "hi" }],
  };

  it.each<[string, unknown, RegExp]>([
    [
      "of an unknown format",
      { messages: [], title: "from elsewhere" },
      /Expected a file of the format millrace.session, got null/u,
    ],
    ["of another format by name", { ...file, format: "chat.export" }, /got "chat.export"/u],
    ["of a newer version", { ...file, version: 2 }, /version 2; this server reads up to 1/u],
    ["without a valid version", { ...file, version: "1" }, /Expected a file/u],
    ["that is a list", [file], /Expected a file/u],
    ["without messages", { ...file, messages: undefined }, /messages: /u],
    [
      "with a message of an unknown role",
      { ...file, messages: [{ role: "robot", content: "x" }] },
      /messages.0.role: expected/u,
    ],
    [
      "with the same message twice",
      {
        ...file,
        messages: [
          { ...file.messages[0], id: "m" },
          { ...file.messages[0], id: "m" },
        ],
      },
      /two have the id m/u,
    ],
    ["without a graph", { ...file, graph_id: null }, /which graph/u],
  ])("%s is refused and creates no thread", async (_, body, reason) => {
    const count = await fixture.server.client.threads.count();
    const [status, text] = await fixture.ask("POST", "/threads/import", body);
    expect([status, text]).toEqual([400, expect.stringMatching(reason)]);
    expect(await fixture.server.client.threads.count()).toBe(count);
  });

  it("of a graph that is not served is 404; another graph can be named", async () => {
    const foreign = { ...file, graph_id: "elsewhere" };
    expect((await fixture.ask("POST", "/threads/import", foreign))[0]).toBe(404);
    const thread = await imported(foreign, "?graph_id=agent");
    expect(await fixture.messages(thread.thread_id)).toMatchObject([{ content: "hi", type: "human" }]);
  });

  it("adds a result to calls without one", async () => {
    const messages = [
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "user", content: "and?" },
    ];
    const thread = await imported({ ...file, messages });
    expect((await fixture.messages(thread.thread_id)).map(({ type }) => type)).toEqual(["ai", "tool", "human"]);
  });
});
