import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tools } from "../../../../src/tools/index.ts";
import type { ToolResult } from "../../../../src/tools/runtime/result.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { editWord } from "../../edit/edit-word.ts";
import { readParts } from "../../formats/zip-parts.ts";
import { aDocx } from "./a-docx.ts";

/** The part of a Word document that has its text. */
export const main = "word/document.xml";

/** An edit: `now` replaces `old`, everywhere if `all` is set. */
export type Edit = [old: string, now: string, all?: boolean];

/** The arguments of an edit. */
export const asEdit = ([old_string, new_string, replace_all]: Edit) => ({ old_string, new_string, replace_all });

/** The XML of a document's text. */
export const mainOf = (file: Uint8Array): string =>
  readParts(file, (name) => name === main)
    .get(main)
    ?.toString() ?? "";

/** The bytes of all entries of a Word document but its text, with their heads, by name. */
export function entries(file: Buffer): Map<string, string> {
  const found = new Map<string, string>();
  let at = 0;
  while (file.readUInt32LE(at) === 0x04034b50) {
    const length = 30 + file.readUInt16LE(at + 26) + file.readUInt16LE(at + 28) + file.readUInt32LE(at + 18);
    const name = file.toString("utf8", at + 30, at + 30 + file.readUInt16LE(at + 26));
    if (name !== main) found.set(name, file.toString("hex", at, at + length));
    at += length;
  }
  return found;
}

/** The body of a document after edits of another one. */
export function edited(body: string, ...edits: Edit[]): string {
  const { file } = editWord(aDocx(body), edits.map(asEdit));
  return /<w:body>(.*)<w:sectPr>/su.exec(mainOf(file ?? aDocx(body)))?.[1] ?? "";
}

/** A workspace in which one Word document, `plan.docx`, is edited. */
export interface EditedFile {
  workspace: Workspace;
  /** Writes the document. */
  put(bytes: Uint8Array): Promise<void>;
  /** The document as it is on disk. */
  bytes(): Promise<Buffer>;
  /** The document as `read_file` gives it. */
  text(): Promise<string>;
  /** Edits the document with `edit_file`. */
  edit(...edits: Edit[]): Promise<ToolResult>;
  close(): Promise<void>;
}

/** Makes the workspace. */
export async function openEditedFile(): Promise<EditedFile> {
  const workspace = await aWorkspace();
  const path = "plan.docx";
  return {
    workspace,
    put: (bytes) => writeFile(join(workspace.root, path), bytes),
    bytes: () => readFile(join(workspace.root, path)),
    text: async () => (await workspace.call(tools.read_file, { path })).content ?? "",
    edit: (...edits) => workspace.call(tools.edit_file, { path, edits: edits.map(asEdit) }),
    close: async () => await workspace[Symbol.asyncDispose](),
  };
}
