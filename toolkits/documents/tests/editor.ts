import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../../tests/support/source-files.ts";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../tests/support/testing.ts";

/** The event of a changed document. */
export const Edited = z.object({
  type: z.literal("document_edited"),
  operation_id: z.string(),
  path: z.string(),
  instruction: z.string().nullable(),
  content: z.string(),
  lines_added: z.number(),
  lines_removed: z.number(),
  diff: z.array(z.looseObject({ kind: z.string(), text: z.string() })),
});
/** The open questions of a thread. */
export const Waiting = z.array(
  z.object({ id: z.string(), question: z.string(), value: z.object({ operation: z.unknown() }) }),
);
/** An operation in a list of operations. */
export const Card = z.looseObject({
  operation_id: z.string(),
  type: z.string(),
  path: z.string(),
  status: z.string(),
  summary: z.string(),
});

/** A byte order mark, Windows line ends, and no end of the last line: only an exact copy keeps them. */
export const original = "\uFEFF# Letter\r\n\r\nDear all,\r\nsee you.";
/** The text after a first edit. */
export const first = "\uFEFF# Letter\r\n\r\nDear friends,\r\nsee you.";
/** The text after a second edit. */
export const second = `${first}\r\nYours`;
/** A model step that replaces the whole text. */
export const edit = (content: string, instruction?: string) => ({
  toolCalls: [
    {
      name: "edit_current_editor_document",
      arguments: { content, ...(instruction === undefined ? {} : { instruction }) },
    },
  ],
});
/** The document in the editor, as it comes with a run. */
export const document = { path: "letter.md", content: original, editor: { editable: true, type: "markdown" } };
/** The input of a run with one message. */
export const say = (content: string) => ({ input: { messages: [{ role: "user", content }] } });
/** The approval of all open questions. */
export const approve = { command: { resume: { decisions: [{ type: "approve" }] } } };

/** A server with a scripted model, and what an editor sends to it. */
export interface Editor {
  model: ModelServer;
  server: TestServer;
  newThread(): Promise<string>;
  /** A turn with the editor's document, or with another one, or none; gives the changes of the document. */
  turn(thread: string, input: object, shown?: object | null): Promise<z.infer<typeof Edited>[]>;
  get(path: string): Promise<unknown>;
  post(path: string): Promise<Response>;
  close(): Promise<void>;
}

/** Starts the server; its workspace has another text under the document's path. */
export async function startEditor(): Promise<Editor> {
  const model = await startModelServer({});
  const server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
  await writeFile(join(server.config.workspace, "letter.md"), "on disk\n");
  return {
    model,
    server,
    newThread: async () => (await server.client.threads.create()).thread_id,
    turn: (thread, input, shown = document) => turn(server, { thread, input, shown }),
    get: async (path) => await (await server.send("GET", path)).json(),
    post: (path) => server.send("POST", path),
    async close() {
      await server.remove();
      await model.close();
    },
  };
}

async function turn(
  server: TestServer,
  { thread, input, shown }: { thread: string; input: object; shown: object | null },
): Promise<z.infer<typeof Edited>[]> {
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
