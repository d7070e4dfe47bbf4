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
 * What a file of this name holds for a text that a model has written: the text, or what its format makes of it. Throws
 * what the format throws, such as `invalid_parameter` where any text would be a broken file.
 */
export async function fileContent(context: ToolContext, { real }: Place, text: string): Promise<FileContent> {
  const format = formatOf(real, context.toolkitServices);
  return (await format?.write?.(text, context.signal)) ?? { content: text, told: "" };
}

/** The text that a file will hold which is written whole; `undefined` where its format makes something else of it. */
export async function textOfContent(
  { path, content }: { path: string; content: string },
  { toolkitServices }: Pick<ToolContext, "toolkitServices">,
): Promise<string | undefined> {
  return isFormatted(path, toolkitServices) ? undefined : content;
}

/** Whether a file holds what would be written for a text: byte by byte, a document by what it says. */
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
 * Whether what lies at a path after a crash is what a call has written for a text. Two documents of one text need not
 * have the same bytes, so one is known by what it says.
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

/** Whether a call had its effect that has written a text to a file; `isBegun` as in `reconcileWrite`. */
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

/** The result of a call that has written a file whole. */
export function wroteFile(verb: keyof typeof verbs, path: string, content: string | Uint8Array, told = ""): ToolResult {
  const bytes = Buffer.byteLength(content);
  return {
    ...success(`${verb} ${path} (${bytes} bytes)${told}.`, {
      data: { path, bytes },
      message_zh: `已${verbs[verb]} ${path}（${bytes} 字节）。`,
    }),
    seen: seenWhole(path, content),
  };
}

/** What cannot be read is not what was written. */
function unreadable(error: unknown): false {
  if (isAppError(error)) return false;
  throw error;
}
