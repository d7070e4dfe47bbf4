import { deepEqual, equal, match, ok } from "node:assert/strict";
import { cpSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { ServerProcess } from "../../../tests/support/processes/server-process.ts";
import { projectFolder } from "../../../tests/support/source-files.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import type { Demo } from "../../../tests/e2e/demo/demo-session.ts";
import { operationsOf, questionOf, turn, undo, wait, withScriptedModel } from "../../../tests/e2e/demo/demo-turns.ts";
import { note, say } from "../../../tests/e2e/demo/demo-view.ts";

const Edited = z.looseObject({ type: z.literal("document_edited"), operation_id: z.string(), content: z.string() });

const offline = { toolkits: ["files", "documents"] };

/** Word, PDF and other documents are read and made, one is changed in the user's editor, and everything is taken back. */
const documents: Demo = {
  prepare: (workspace) => cpSync(join(projectFolder, "samples/documents"), workspace, { recursive: true }),
  async perform(server, workspace) {
    const { thread_id: thread } = await server.client.threads.create({ metadata: { name: "Documents" } });
    await readAndSummarize(server, workspace, thread);
    await explainBadInput(server, thread);
    await makeWordDocument(server, workspace, thread);
    await undoToTheByte(server, workspace, thread);
    await editInEditor(server, workspace);
  },
};

/** The demos of this toolkit, by name. */
export const demos: Record<string, Demo> = { documents };

async function readAndSummarize(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request = "read offer.docx and invoice.pdf";
  say(1, "A Word document with a table and an equation, and a PDF", request);
  const read = await turn(server, thread, request, offline);
  ok(read.includes("| Oak buckets | 24 | 1 920 € |"), `the table of offer.docx is not there: ${read}`);
  ok(read.includes(String.raw`$\frac{3}{4}$`), `the equation of offer.docx is not there: ${read}`);
  ok(read.includes("Total 141.00 EUR"), `the text of invoice.pdf is not there: ${read}`);
  const summary = "summarize offer.docx to summary.docx";
  say(2, "A summary, as a Word document", summary);
  await turn(server, thread, summary, offline);
  ok(existsSync(join(workspace, "summary.docx")), "summary.docx was not made");
  const back = await turn(server, thread, "read summary.docx", offline);
  match(back, /the text of a Word document\]\n/u);
  match(back, /wheel/u);
}

async function explainBadInput(server: ServerProcess, thread: string): Promise<void> {
  const request = "read scan.pdf";
  say(3, "A PDF that is only pictures, and Chinese text in an old encoding", `${request}; read minutes.txt`);
  match(await turn(server, thread, request, offline), /There is no text in its page.*OCR/u);
  match(await turn(server, thread, "read minutes.txt", offline), /in GB 18030;[\s\S]*会议纪要/u);
}

async function makeWordDocument(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const html = "<h1>Reply</h1><p>We take the <b>wheel</b>.</p><ul><li>soon</li><li>for 2 920 €</li></ul>";
  const request = `create reply.docx with the content "${html}"`;
  say(4, "A Word document is made from HTML", request);
  await turn(server, thread, request, offline);
  equal(readFileSync(join(workspace, "reply.docx")).subarray(0, 2).toString(), "PK", "reply.docx is no Word document");
  const back = await turn(server, thread, "read reply.docx", offline);
  match(back, /# Reply\n\nWe take the \*\*wheel\*\*\.\n\n- +soon\n\s*- +for 2 920 €/u);
}

async function undoToTheByte(server: ServerProcess, workspace: string, thread: string): Promise<void> {
  const request = 'replace the content of offer.docx with "# Offer\n\nNothing any more."';
  say(5, "A replaced document comes back, byte for byte", request);
  const original = readFileSync(join(projectFolder, "samples/documents/offer.docx"));
  await turn(server, thread, request, offline);
  ok(!readFileSync(join(workspace, "offer.docx")).equals(original), "offer.docx was not replaced");
  const [newest] = await operationsOf(server, thread);
  await undo(server, thread, newest?.operation_id ?? "");
  ok(readFileSync(join(workspace, "offer.docx")).equals(original), "offer.docx is not what it was");
  note(`After the undo offer.docx has its ${original.length} bytes again.`);
}

async function editInEditor(server: ServerProcess, workspace: string): Promise<void> {
  const request = "Make the greeting warmer.";
  say(6, "The document in the user's editor, with a preview and an undo (a scripted model)", request);
  const shown = "# To the council\r\n\r\nDear all,\r\nwe ask for two days.";
  const wanted = shown.replace("Dear all", "Dear friends of the mill");
  const script: ModelStep[] = [
    {
      toolCalls: [
        { name: "edit_current_editor_document", arguments: { content: wanted, instruction: "A warmer greeting" } },
      ],
    },
    { text: "The greeting is warmer now." },
  ];
  await withScriptedModel(server, script, {}, async () => {
    const { thread_id: thread } = await server.client.threads.create();
    const context = {
      model: "openai:demo",
      mode: "free_work",
      document: { path: "letter.md", content: shown, unsaved_changes: true },
    };
    await wait(server, thread, { input: { messages: [{ role: "user", content: request }] } }, context);
    const question = await questionOf(server, thread);
    match(question, /Change letter\.md in your editor \(1 line\(s\) added, 1 removed\)\?/u);
    match(question, /-Dear all,\\n\+Dear friends of the mill,/u);
    note("The server asks, and shows: -Dear all,  +Dear friends of the mill,");
    const edits: z.infer<typeof Edited>[] = [];
    const stream = server.client.runs.stream(thread, "agent", {
      command: { resume: { decisions: [{ type: "approve" }] } },
      context,
      streamMode: ["custom"],
    });
    for await (const { data } of stream) {
      const edited = Edited.safeParse(data);
      if (edited.success) edits.push(edited.data);
    }
    deepEqual(
      edits.map(({ content }) => content),
      [wanted],
      "the editor was not told the new text, once",
    );
    note("Answer: approve. The editor is told the new text; the file on disk is as it was.");
    equal(
      readFileSync(join(workspace, "letter.md"), "utf8"),
      readFileSync(join(projectFolder, "samples/documents/letter.md"), "utf8"),
    );
    const undone = await undo(server, thread, edits[0]?.operation_id ?? "");
    equal(undone.content, shown, "the undo does not give back the text of before");
    note("Undo gives back the text of before, line ends included.");
  });
}
