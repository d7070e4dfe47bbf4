import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { approve, Card, document, edit, first, say, startEditor, Waiting, type Editor } from "./editor.ts";

let editor: Editor;
beforeAll(async () => {
  editor = await startEditor();
});
afterAll(() => editor.close());
beforeEach(() => {
  editor.model.requests.length = 0;
});

describe("the tools for the editor's document (DOC-05)", () => {
  it("is read in ranges, also within one long line, and edited by search and replace, never from the file", async () => {
    const thread = await editor.newThread();
    const long = `${"水车转动。".repeat(4200)}结束。`;
    const content = `# Letter\n\n${long}\n\nYours\n`;
    const call = (name: string, args: Record<string, unknown>) => ({ toolCalls: [{ name, arguments: args }] });
    const edits = [
      { old_string: "动。结束。", new_string: "动。开始。" },
      { old_string: "Yours", new_string: "Yours, Ann" },
    ];
    const changed = content.replace("结束。", "开始。").replace("Yours", "Yours, Ann");
    const shown = { ...document, content };
    editor.model.push(
      call("read_editor_document", { offset: 3, limit: 1 }),
      call("read_editor_document", { offset: 3, limit: 1, character: 20_990 }),
      call("read_file", { path: "letter.md", offset: 5 }),
      call("edit_file", { path: "letter.md", edits: [{ old_string: "on disk", new_string: "x" }] }),
      call("edit_current_editor_document", { edits: [{ old_string: "水车转动。结束了", new_string: "x" }] }),
      call("edit_current_editor_document", { edits }),
      { text: "Done." },
    );
    await editor.turn(thread, say("Sign it."), shown);
    const [asked] = Waiting.parse(await editor.get(`/threads/${thread}/approvals`));
    expect(asked?.value.operation).toMatchObject({ type: "EditDocument", lines_added: 2, lines_removed: 2 });
    const [event] = await editor.turn(thread, approve, shown);
    expect(event?.content).toBe(changed);
    const [line, end, file, refused, notFound] = editor.model.requests
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
    const { operations } = z
      .object({ operations: z.array(Card) })
      .parse(await editor.get(`/threads/${thread}/operations`));
    const edited = operations.find(({ type, status }) => type === "edit" && status === "success");
    expect(
      await (await editor.post(`/threads/${thread}/operations/${edited?.operation_id}/undo`)).json(),
    ).toMatchObject({
      content,
    });
    expect(await readFile(join(editor.server.config.workspace, "letter.md"), "utf8")).toBe("on disk\n");
    editor.model.assertFinished();
  });

  it("is not what counts once the file on disk has the same text", async () => {
    editor.model.push(
      {
        toolCalls: [
          { name: "edit_file", arguments: { path: "same.md", edits: [{ old_string: "one", new_string: "two" }] } },
        ],
      },
      { text: "Done." },
    );
    await writeFile(join(editor.server.config.workspace, "same.md"), "one\n");
    await editor.turn(await editor.newThread(), say("Change it."), { path: "./same.md", content: "one\n" });
    expect(await readFile(join(editor.server.config.workspace, "same.md"), "utf8")).toBe("two\n");
    await rm(join(editor.server.config.workspace, "same.md"));
    editor.model.assertFinished();
  });

  it("is offered only where the whole text came with the run", async () => {
    const offered = async (shown: object | null): Promise<boolean> => {
      editor.model.push({ text: "Hello." });
      await editor.turn(await editor.newThread(), say("Hello"), shown);
      return editor.model.requests.at(-1)?.toolNames.includes("edit_current_editor_document") === true;
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
    const thread = await editor.newThread();
    editor.model.push(edit(first), { text: "I see." });
    const edits = [...(await editor.turn(thread, say("Change it."), shown))];
    const waiting = Waiting.parse(await editor.get(`/threads/${thread}/approvals`));
    if (waiting.length > 0) edits.push(...(await editor.turn(thread, approve, shown)));
    expect(edits).toEqual([]);
    expect(JSON.stringify(editor.model.requests.at(-1)?.messages.at(-1))).toContain(words);
    editor.model.assertFinished();
  });

  it("has five seconds, and says that it is asked about (TOOL-09, CONF-03)", async () => {
    const tools = z.array(z.looseObject({ name: z.string() })).parse(await editor.get("/tools"));
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
    const thread = await editor.newThread();
    editor.model.push({ text: "Hello." });
    await editor.turn(thread, say("Hello"), null);
    const response = await editor.server.send("POST", `/threads/${thread}/tools/edit_current_editor_document/run`, {
      args: { content: "x" },
    });
    expect(await response.json()).toMatchObject({ result: { success: false, errorType: "invalid_state" } });
  });
});
