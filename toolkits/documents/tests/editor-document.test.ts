import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../../tests/support/source-files.ts";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../tests/support/testing.ts";

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({});
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
  await writeFile(join(server.config.workspace, "letter.md"), "on disk\n");
});
afterAll(async () => {
  await server.remove();
  await model.close();
});
beforeEach(() => {
  model.requests.length = 0;
});

const Edited = z.object({
  type: z.literal("document_edited"),
  operation_id: z.string(),
  path: z.string(),
  instruction: z.string().nullable(),
  content: z.string(),
  lines_added: z.number(),
  lines_removed: z.number(),
  diff: z.array(z.looseObject({ kind: z.string(), text: z.string() })),
});
const Waiting = z.array(
  z.object({ id: z.string(), question: z.string(), value: z.object({ operation: z.unknown() }) }),
);
const Card = z.looseObject({
  operation_id: z.string(),
  type: z.string(),
  path: z.string(),
  status: z.string(),
  summary: z.string(),
});

// A mark, Windows line ends, and no end of the last line: what only an exact copy keeps.
const original = "\uFEFF# Letter\r\n\r\nDear all,\r\nsee you.";
const first = "\uFEFF# Letter\r\n\r\nDear friends,\r\nsee you.";
const second = `${first}\r\nYours`;
const edit = (content: string, instruction?: string) => ({
  toolCalls: [
    {
      name: "edit_current_editor_document",
      arguments: { content, ...(instruction === undefined ? {} : { instruction }) },
    },
  ],
});
const document = { path: "letter.md", content: original, editor: { editable: true, type: "markdown" } };

/** A turn with the editor's document, or with another one, or none. */
async function turn(thread: string, input: object, shown: object | null = document): Promise<z.infer<typeof Edited>[]> {
  const edits: z.infer<typeof Edited>[] = [];
  const context = { mode: "free_work", ...(shown === null ? {} : { document: shown }) };
  const stream = server.client.runs.stream(thread, "agent", { ...input, context, streamMode: ["custom"] });
  for await (const { event, data } of stream) {
    expect(event, JSON.stringify(data)).not.toBe("error");
    const found = Edited.safeParse(data);
    if (found.success) edits.push(found.data);
  }
  return edits;
}
const say = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
const approve = { command: { resume: { decisions: [{ type: "approve" }] } } };
const newThread = async (): Promise<string> => (await server.client.threads.create()).thread_id;
const get = async (path: string): Promise<unknown> => await (await server.send("GET", path)).json();
const post = (path: string): Promise<Response> => server.send("POST", path);

describe("edit_current_editor_document (DOC-05)", () => {
  it("asks with a preview, emits the new text and the diff, leaves the file alone, and is undone byte for byte", async () => {
    const thread = await newThread();
    model.push(edit(first, "A warmer greeting"), edit(second), { text: "Done." });
    expect(await turn(thread, say("Greet them as friends, and sign it."))).toEqual([]);
    const [asked] = Waiting.parse(await get(`/threads/${thread}/approvals`));
    expect(asked?.question).toBe("Change letter.md in your editor (1 line(s) added, 1 removed)?");
    expect(asked?.value.operation).toEqual({
      type: "EditDocument",
      path: "letter.md",
      lines_added: 1,
      lines_removed: 1,
      preview: " \uFEFF# Letter\n \n-Dear all,\n+Dear friends,\n see you.",
    });

    const [event, ...more] = await turn(thread, approve);
    expect(more).toEqual([]);
    expect(event).toMatchObject({
      path: "letter.md",
      instruction: "A warmer greeting",
      content: first,
      lines_added: 1,
      lines_removed: 1,
    });
    expect(event?.diff.filter(({ kind }) => kind !== "same").map(({ kind, text }) => [kind, text])).toEqual([
      ["removed", "Dear all,"],
      ["added", "Dear friends,"],
    ]);
    // The next change builds on the first, also in its question.
    const [again] = Waiting.parse(await get(`/threads/${thread}/approvals`));
    expect(again?.value.operation).toMatchObject({
      lines_added: 2,
      lines_removed: 1,
      preview: expect.stringContaining("+Yours"),
    });
    const [last] = await turn(thread, approve);
    expect(last).toMatchObject({ content: second, instruction: null });

    const { operations } = z.object({ operations: z.array(Card) }).parse(await get(`/threads/${thread}/operations`));
    expect(operations.map(({ type, path, summary, status }) => [type, path, summary, status])).toEqual([
      ["edit", "letter.md", "Changed in the editor: letter.md (+2, -1 lines)", "success"],
      ["edit", "letter.md", "Changed in the editor: letter.md (+1, -1 lines)", "success"],
    ]);
    expect(operations.map(({ operation_id }) => operation_id)).toEqual([last?.operation_id, event?.operation_id]);
    expect(await get(`/threads/${thread}/operations/${event?.operation_id}/diff`)).toMatchObject({
      added: 1,
      removed: 1,
      reason: null,
    });
    const changes = await Promise.all(
      (await server.client.runs.list(thread)).map(async ({ run_id }) =>
        get(`/threads/${thread}/runs/${run_id}/changes`),
      ),
    );
    expect(changes.every((change) => JSON.stringify(change) === "{}")).toBe(true);

    const undo = (id: string | undefined): Promise<Response> => post(`/threads/${thread}/operations/${id}/undo`);
    expect((await undo(event?.operation_id)).status).toBe(409);
    expect(await (await undo(last?.operation_id)).json()).toMatchObject({
      status: "undone",
      content: first,
      can_undo: false,
    });
    expect(await (await undo(event?.operation_id)).json()).toMatchObject({ status: "undone", content: original });
    expect(await readdir(server.config.workspace)).toEqual(["letter.md"]);
    model.assertFinished();
  });

  it.each([
    // What was approved is not what would be done any more: it is asked about again.
    ["what the user has typed meanwhile", { ...document, content: `${first}!` }, 2, "-see you.!"],
    ["what it has left itself, when the answer comes without a newer text", document, 1, " Dear friends,"],
  ])("builds the next change of a turn on %s", async (_, shown, answers, line) => {
    const thread = await newThread();
    model.push(edit(first), edit(second), edit(original), { text: "Done." });
    await turn(thread, say("Change it."));
    await turn(thread, approve);
    for (let answer = 0; answer < answers; answer += 1) await turn(thread, approve, shown);
    const { operations } = z.object({ operations: z.array(Card) }).parse(await get(`/threads/${thread}/operations`));
    const { lines } = z
      .object({ lines: z.array(z.object({ kind: z.enum(["same", "added", "removed"]), text: z.string() })) })
      .parse(await get(`/threads/${thread}/operations/${operations[0]?.operation_id}/diff`));
    const signs = { same: " ", added: "+", removed: "-" };
    expect(lines.map(({ kind, text }) => signs[kind] + text)).toContain(line);
    // To the text that the last question was about.
    for (let answer = 0; answer < answers; answer += 1) await turn(thread, approve);
    model.assertFinished();
  });

  it("builds the first change of the next turn on what came with it", async () => {
    const thread = await newThread();
    model.push(edit(first), { text: "Done." }, edit(second), { text: "Done." });
    await turn(thread, say("Change it."));
    await turn(thread, approve);
    // The user has taken the change back in the editor.
    await turn(thread, say("Sign it."));
    const [asked] = Waiting.parse(await get(`/threads/${thread}/approvals`));
    expect(asked?.value.operation).toMatchObject({ preview: expect.stringContaining("-Dear all,") });
    await turn(thread, approve);
    model.assertFinished();
  });

  it("is read in ranges, also within one long line, and edited by search and replace, never from the file", async () => {
    const thread = await newThread();
    const long = `${"水车转动。".repeat(4200)}结束。`;
    const content = `# Letter\n\n${long}\n\nYours\n`;
    const call = (name: string, args: Record<string, unknown>) => ({ toolCalls: [{ name, arguments: args }] });
    const edits = [
      { old_string: "动。结束。", new_string: "动。开始。" },
      { old_string: "Yours", new_string: "Yours, Ann" },
    ];
    const changed = content.replace("结束。", "开始。").replace("Yours", "Yours, Ann");
    const shown = { ...document, content };
    model.push(
      call("read_editor_document", { offset: 3, limit: 1 }),
      call("read_editor_document", { offset: 3, limit: 1, character: 20_990 }),
      call("read_file", { path: "letter.md", offset: 5 }),
      call("edit_file", { path: "letter.md", edits: [{ old_string: "on disk", new_string: "x" }] }),
      call("edit_current_editor_document", { edits: [{ old_string: "水车转动。结束了", new_string: "x" }] }),
      call("edit_current_editor_document", { edits }),
      { text: "Done." },
    );
    await turn(thread, say("Sign it."), shown);
    const [asked] = Waiting.parse(await get(`/threads/${thread}/approvals`));
    expect(asked?.value.operation).toMatchObject({ type: "EditDocument", lines_added: 2, lines_removed: 2 });
    const [event] = await turn(thread, approve, shown);
    expect(event?.content).toBe(changed);
    const [line, end, file, refused, notFound] = model.requests
      .slice(1)
      .map(({ messages }) => String(messages.at(-1)?.content));
    expect(line).toContain("[letter.md: lines 3-3 of 5; go on with offset 4");
    expect(line).toContain("3\t水车转动。水车转动。");
    expect(end).toContain("from character 20990 of line 3");
    expect(end).toContain("结束。");
    expect(file).toContain("the text in the user's editor, not that of the file");
    expect(file).toContain("5\tYours");
    expect(refused).toContain('"letter.md" is open in the user\'s editor, whose text is not that of the file');
    expect(notFound).toContain("The nearest text in the file is a part of line 3:");
    expect(notFound).toContain("水车转动。结束。");
    const { operations } = z.object({ operations: z.array(Card) }).parse(await get(`/threads/${thread}/operations`));
    const edited = operations.find(({ type, status }) => type === "edit" && status === "success");
    expect(await (await post(`/threads/${thread}/operations/${edited?.operation_id}/undo`)).json()).toMatchObject({
      content,
    });
    expect(await readFile(join(server.config.workspace, "letter.md"), "utf8")).toBe("on disk\n");
    model.assertFinished();
  });

  it("is not what counts once the file on disk has the same text", async () => {
    model.push(
      {
        toolCalls: [
          { name: "edit_file", arguments: { path: "same.md", edits: [{ old_string: "one", new_string: "two" }] } },
        ],
      },
      { text: "Done." },
    );
    await writeFile(join(server.config.workspace, "same.md"), "one\n");
    await turn(await newThread(), say("Change it."), { path: "./same.md", content: "one\n" });
    expect(await readFile(join(server.config.workspace, "same.md"), "utf8")).toBe("two\n");
    await rm(join(server.config.workspace, "same.md"));
    model.assertFinished();
  });

  it("does nothing after a refusal", async () => {
    const thread = await newThread();
    model.push(edit(first), { text: "As you like." });
    await turn(thread, say("Change it."));
    const edits = await turn(thread, { command: { resume: { decisions: [{ type: "reject" }] } } });
    expect(edits).toEqual([]);
    expect(z.object({ total: z.number() }).parse(await get(`/threads/${thread}/operations`)).total).toBe(0);
    model.assertFinished();
  });

  it("is offered only where the whole text came with the run", async () => {
    const offered = async (shown: object | null): Promise<boolean> => {
      model.push({ text: "Hello." });
      await turn(await newThread(), say("Hello"), shown);
      return model.requests.at(-1)?.toolNames.includes("edit_current_editor_document") === true;
    };
    expect(await offered(document)).toBe(true);
    expect(await offered({ path: "letter.md", preview: "# Letter" })).toBe(false);
    expect(await offered(null)).toBe(false);
    expect(await offered({ content: "" })).toBe(true);
  });

  it.each([
    ["is read-only", { ...document, editor: { editable: false } }, "read-only"],
    ["has this text already", { ...document, content: first }, "Nothing changed"],
  ])("returns an error to the model when the document %s", async (_, shown, words) => {
    const thread = await newThread();
    model.push(edit(first), { text: "I see." });
    const edits = [...(await turn(thread, say("Change it."), shown))];
    const waiting = Waiting.parse(await get(`/threads/${thread}/approvals`));
    if (waiting.length > 0) edits.push(...(await turn(thread, approve, shown)));
    expect(edits).toEqual([]);
    expect(JSON.stringify(model.requests.at(-1)?.messages.at(-1))).toContain(words);
    model.assertFinished();
  });

  it("has five seconds, and says that it is asked about (TOOL-09, CONF-03)", async () => {
    const tools = z.array(z.looseObject({ name: z.string() })).parse(await get("/tools"));
    expect(tools.find(({ name }) => name === "edit_current_editor_document")).toMatchObject({
      toolkit: "documents",
      timeout_seconds: 5,
      confirmation: [
        { operation: "Query", asks: "never" },
        { operation: "EditDocument", asks: "always" },
      ],
    });
  });

  it("by hand says that no document is open", async () => {
    const thread = await newThread();
    model.push({ text: "Hello." });
    await turn(thread, say("Hello"), null);
    const response = await server.send("POST", `/threads/${thread}/tools/edit_current_editor_document/run`, {
      args: { content: "x" },
    });
    expect(await response.json()).toMatchObject({ result: { success: false, errorType: "invalid_state" } });
  });
});
