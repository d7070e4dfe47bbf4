import { readdir } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  approve,
  Card,
  document,
  edit,
  first,
  original,
  say,
  second,
  startEditor,
  Waiting,
  type Editor,
} from "./editor.ts";

let editor: Editor;
beforeAll(async () => {
  editor = await startEditor();
});
afterAll(() => editor.close());
beforeEach(() => {
  editor.model.requests.length = 0;
});

describe("edit_current_editor_document (DOC-05)", () => {
  it("asks with a preview, emits the new text and the diff, leaves the file alone, and is undone byte for byte", async () => {
    const thread = await editor.newThread();
    editor.model.push(edit(first, "A warmer greeting"), edit(second), { text: "Done." });
    expect(await editor.turn(thread, say("Greet them as friends, and sign it."))).toEqual([]);
    const [asked] = Waiting.parse(await editor.get(`/threads/${thread}/approvals`));
    expect(asked?.question).toBe("Change letter.md in your editor (1 line(s) added, 1 removed)?");
    expect(asked?.value.operation).toEqual({
      type: "EditDocument",
      path: "letter.md",
      lines_added: 1,
      lines_removed: 1,
      preview: " \uFEFF# Letter\n \n-Dear all,\n+Dear friends,\n see you.",
    });

    const [event, ...more] = await editor.turn(thread, approve);
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
    const [again] = Waiting.parse(await editor.get(`/threads/${thread}/approvals`));
    expect(again?.value.operation).toMatchObject({
      lines_added: 2,
      lines_removed: 1,
      preview: expect.stringContaining("+Yours"),
    });
    const [last] = await editor.turn(thread, approve);
    expect(last).toMatchObject({ content: second, instruction: null });

    const { operations } = z
      .object({ operations: z.array(Card) })
      .parse(await editor.get(`/threads/${thread}/operations`));
    expect(operations.map(({ type, path, summary, status }) => [type, path, summary, status])).toEqual([
      ["edit", "letter.md", "Changed in the editor: letter.md (+2, -1 lines)", "success"],
      ["edit", "letter.md", "Changed in the editor: letter.md (+1, -1 lines)", "success"],
    ]);
    expect(operations.map(({ operation_id }) => operation_id)).toEqual([last?.operation_id, event?.operation_id]);
    expect(await editor.get(`/threads/${thread}/operations/${event?.operation_id}/diff`)).toMatchObject({
      added: 1,
      removed: 1,
      reason: null,
    });
    const changes = await Promise.all(
      (await editor.server.client.runs.list(thread)).map(async ({ run_id }) =>
        editor.get(`/threads/${thread}/runs/${run_id}/changes`),
      ),
    );
    expect(changes.every((change) => JSON.stringify(change) === "{}")).toBe(true);

    const undo = (id: string | undefined): Promise<Response> => editor.post(`/threads/${thread}/operations/${id}/undo`);
    expect((await undo(event?.operation_id)).status).toBe(409);
    expect(await (await undo(last?.operation_id)).json()).toMatchObject({
      status: "undone",
      content: first,
      can_undo: false,
    });
    expect(await (await undo(event?.operation_id)).json()).toMatchObject({ status: "undone", content: original });
    expect(await readdir(editor.server.config.workspace)).toEqual(["letter.md"]);
    editor.model.assertFinished();
  });

  it.each([
    // What was approved is not what would be done any more: it is asked about again.
    ["what the user has typed meanwhile", { ...document, content: `${first}!` }, 2, "-see you.!"],
    ["what it has left itself, when the answer comes without a newer text", document, 1, " Dear friends,"],
  ])("builds the next change of a turn on %s", async (_, shown, answers, line) => {
    const thread = await editor.newThread();
    editor.model.push(edit(first), edit(second), edit(original), { text: "Done." });
    await editor.turn(thread, say("Change it."));
    await editor.turn(thread, approve);
    for (let answer = 0; answer < answers; answer += 1) await editor.turn(thread, approve, shown);
    const { operations } = z
      .object({ operations: z.array(Card) })
      .parse(await editor.get(`/threads/${thread}/operations`));
    const { lines } = z
      .object({ lines: z.array(z.object({ kind: z.enum(["same", "added", "removed"]), text: z.string() })) })
      .parse(await editor.get(`/threads/${thread}/operations/${operations[0]?.operation_id}/diff`));
    const signs = { same: " ", added: "+", removed: "-" };
    expect(lines.map(({ kind, text }) => signs[kind] + text)).toContain(line);
    // To the text that the last question was about.
    for (let answer = 0; answer < answers; answer += 1) await editor.turn(thread, approve);
    editor.model.assertFinished();
  });

  it("builds the first change of the next turn on what came with it", async () => {
    const thread = await editor.newThread();
    editor.model.push(edit(first), { text: "Done." }, edit(second), { text: "Done." });
    await editor.turn(thread, say("Change it."));
    await editor.turn(thread, approve);
    // The user has taken the change back in the editor.
    await editor.turn(thread, say("Sign it."));
    const [asked] = Waiting.parse(await editor.get(`/threads/${thread}/approvals`));
    expect(asked?.value.operation).toMatchObject({ preview: expect.stringContaining("-Dear all,") });
    await editor.turn(thread, approve);
    editor.model.assertFinished();
  });

  it("does nothing after a refusal", async () => {
    const thread = await editor.newThread();
    editor.model.push(edit(first), { text: "As you like." });
    await editor.turn(thread, say("Change it."));
    const edits = await editor.turn(thread, { command: { resume: { decisions: [{ type: "reject" }] } } });
    expect(edits).toEqual([]);
    expect(z.object({ total: z.number() }).parse(await editor.get(`/threads/${thread}/operations`)).total).toBe(0);
    editor.model.assertFinished();
  });
});
