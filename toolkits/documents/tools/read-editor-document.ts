import { z } from "zod";
import { readText } from "../../../src/tools/files/read-file.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { requireDocument } from "./edit-current-editor-document.ts";

/** Reads the document open in the client's editor: all of it, or a range of lines. */
export const readEditorDocument = defineTool({
  name: "read_editor_document",
  description:
    "Reads the document that is open in the user's editor, with changes that are not saved, as numbered lines (number, tab, text). " +
    "Of a longer one the first line of the answer says which lines these are and with which offset to go on.",
  schema: z.object({
    offset: z.number().int().min(1).optional().describe("first line to read, counted from 1; default 1"),
    limit: z.number().int().min(1).max(2000).optional().describe("how many lines; default 2000"),
    character: z
      .number()
      .int()
      .min(1)
      .optional()
      .describe("where to go on in a first line that is longer than an answer"),
  }),
  effect: "pure",
  timeoutSeconds: 5,
  resources: (_, { sessionId }) => [`editor:${sessionId}`],
  offered: { needs: "open_document" },
  run: async (input, { conversation, resultLength }) => {
    const document = requireDocument(conversation.document);
    const name = document.path === "" ? "the open document" : document.path;
    return readText(name, await document.text(), input, resultLength);
  },
  example: { title: "Lines 100 to 139", body: '{"offset": 100, "limit": 40}' },
});
