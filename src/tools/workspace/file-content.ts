import { createHash } from "node:crypto";
import { isAppError } from "@millrace/engine/errors/errors";
import type { FileState } from "@millrace/engine/storage/records";
import { success, type ToolResult } from "../runtime/result.ts";
import type { Reconciled, ToolContext } from "../runtime/tool.ts";
import { withFile } from "./file-access.ts";
import { formatOf, isFormatted, type FileContent } from "./file-formats.ts";
import { holdsText, reconcileWrite } from "./reconcile.ts";
import { seenWhole } from "./seen-files.ts";
import { locate, type Place } from "./workspace-path.ts";

/**
 * The content to write for a model's text: the text, or its format's conversion. Throws the format's errors, such as
 * `invalid_parameter` for a format that cannot be written.
 */
export async function fileContent(context: ToolContext, { real }: Place, text: string): Promise<FileContent> {
  const format = formatOf(real, context.toolkitServices);
  return (await format?.write?.(text, context.signal)) ?? { content: text, note: "" };
}

/** The text a written file will have; `undefined` if its format converts it. */
export async function textOfContent(
  { path, content }: { path: string; content: string },
  { toolkitServices }: Pick<ToolContext, "toolkitServices">,
): Promise<string | undefined> {
  return isFormatted(path, toolkitServices) ? undefined : content;
}

/** Whether a file already has the content for this text: equal bytes, or equal text for documents. */
export async function holdsContent(context: ToolContext, place: Place, text: string): Promise<boolean> {
  if (place.kind !== "file") return false;
  const { read, write } = formatOf(place.real, context.toolkitServices) ?? {};
  const file = await withFile(context, place, async (handle, { size }) =>
    write !== undefined || size === Buffer.byteLength(text) ? await handle.readFile() : undefined,
  );
  if (file === undefined) return false;
  if (write === undefined) return file.equals(Buffer.from(text));
  const { content } = await write(text, context.signal);
  if (read === undefined) return file.equals(Buffer.from(content));
  const [now, wanted] = [
    await read(Uint8Array.from(file), context.signal),
    await read(Uint8Array.from(Buffer.from(content)), context.signal),
  ];
  return now.text === wanted.text;
}

/**
 * Whether the file after a crash is what the call wrote. Two documents with the same text may differ in bytes, so
 * documents are compared by text.
 */
async function isWritten(
  context: ToolContext,
  at: { path: string; lastLink: "follow" | "keep" },
  text: string,
): Promise<(now: FileState) => boolean> {
  const place = await locate(context.workspace, at.path, at.lastLink);
  if (formatOf(place.real, context.toolkitServices)?.write === undefined) return (now) => holdsText(now, text);
  if (place.kind !== "file") return () => false;
  const bytes = await withFile(context, place, (handle) => handle.readFile());
  const hash = createHash("sha256").update(bytes).digest("hex");
  const holds = await holdsContent(context, place, text).catch(unreadable);
  return (now) => holds && now.kind === "file" && now.hash === hash;
}

/** Whether a call that writes a text took effect; `isBegun` as in `reconcileWrite`. */
export async function reconcileContent(
  context: ToolContext,
  at: { path: string; lastLink: "follow" | "keep" },
  text: string,
  expected: Pick<Parameters<typeof reconcileWrite>[2], "isBegun" | "result">,
): Promise<Reconciled> {
  const isDone = await isWritten(context, at, text);
  return reconcileWrite(context, at, { ...expected, isDone: ({ now }) => isDone(now) });
}

const verbs = { Created: "创建", Wrote: "写入", Updated: "更新" } as const;

/** The result of writing a whole file. */
export function wroteFile(verb: keyof typeof verbs, path: string, content: string | Uint8Array, note = ""): ToolResult {
  const bytes = Buffer.byteLength(content);
  return {
    ...success(`${verb} ${path} (${bytes} bytes)${note}.`, {
      data: { path, bytes },
      message_zh: `已${verbs[verb]} ${path}（${bytes} 字节）。`,
    }),
    seen: seenWhole(path, content),
  };
}

/** An unreadable file is not what was written. */
function unreadable(error: unknown): false {
  if (isAppError(error)) return false;
  throw error;
}
