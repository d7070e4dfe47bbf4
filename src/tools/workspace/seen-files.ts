import { createHash } from "node:crypto";
import { isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { expectedFailure, failure, type SeenFile, type ToolResult } from "../runtime/result.ts";
import type { Operation, Tool, ToolContext } from "../runtime/tool.ts";
import { withFile, type FileContext } from "./file-access.ts";
import { changeOperation, isInCriticalFolder, leadsToCritical, look } from "./file-checks.ts";
import { linesIn, maxTextBytes } from "./text-lines.ts";
import type { Place } from "./workspace-path.ts";

/** A hash of a file's present content; `undefined` if it is empty, or too large to show in full. */
export async function contentVersion(context: FileContext, place: Place): Promise<string | undefined> {
  return withFile(context, place, async (handle, { size }) =>
    size === 0 || size > maxTextBytes ? undefined : versionOf(await handle.readFile()),
  );
}

/** The `seen` record of a call that wrote a whole file. */
export function seenWhole(path: string, content: string | Uint8Array): SeenFile {
  const total = typeof content === "string" ? linesIn(content) : 1;
  return { path, version: versionOf(content), from: 1, to: total, total };
}

function versionOf(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex").slice(0, 32);
}

const Noted = z.object({
  seen: z.object({ path: z.string(), version: z.string(), from: z.int(), to: z.int(), total: z.int().nullable() }),
});

/** Whether these messages have shown or written every line of this file version. */
function hasSeen(messages: readonly BaseMessage[], path: string, version: string): boolean {
  const parts = messages.flatMap((message) => {
    const { seen } = isToolMessage(message) ? (Noted.safeParse(message.additional_kwargs).data ?? {}) : {};
    return seen?.path === path && seen.version === version ? [seen] : [];
  });
  let next = 1;
  for (const { from, to, total } of parts.toSorted((one, other) => one.from - other.from)) {
    if (from > next) return false;
    next = Math.max(next, to + 1);
    if (total !== null && next > total) return true;
  }
  return false;
}

/** Whether a call overwrites only content the conversation knows; `version` is that content. */
export type Overwriting = { kind: "known"; version?: string } | { kind: "blind"; result: ToolResult };

/**
 * Checks a call that overwrites a file: if the messages do not show its present content the call is refused, and the
 * model told to read it first. New, empty and unchanged files are allowed.
 */
export async function overwriting(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  messages: readonly BaseMessage[],
): Promise<Overwriting> {
  const written = tool.overwrites?.(input);
  if (written === undefined) return { kind: "known" };
  const place = await look(context.workspace, written.path, "follow");
  if (typeof place === "string" || place.kind !== "file") return { kind: "known" };
  const isEmpty = await withFile(context, place, async (_, { size }) => size === 0);
  if (isEmpty) return { kind: "known" };
  const version = await contentVersion(context, place);
  if (version === undefined) return { kind: "blind", result: tooLarge(place.path) };
  if (version === versionOf(written.content) || hasSeen(messages, place.path, version))
    return { kind: "known", version };
  return { kind: "blind", result: notRead(place.path) };
}

/** Refuses the call if the file's content is no longer `version`. */
export async function changedSince(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  version: string,
): Promise<ToolResult | undefined> {
  const written = tool.overwrites?.(input);
  if (written === undefined) return undefined;
  const place = await look(context.workspace, written.path, "follow");
  if (typeof place === "string" || place.kind !== "file") return undefined;
  return (await contentVersion(context, place)) === version ? undefined : notRead(place.path);
}

function notRead(path: string): ToolResult {
  return {
    ...failure(
      "conflict",
      `Not written: "${path}" exists, and its present content was not read in this conversation, or has changed since.`,
      "Read it whole with read_file and write it again, or change only parts of it.",
    ),
    message_zh: `未写入：“${path}”已存在，而它现在的内容在本次对话中尚未读取，或之后有了变化。`,
  };
}

function tooLarge(path: string): ToolResult {
  return {
    ...failure(
      "too_large",
      `Not written: "${path}" exists and is too large to be read whole.`,
      "Change only parts of it, or write to another path.",
    ),
    message_zh: `未写入：“${path}”已存在，且过大，无法完整读取。`,
  };
}

/** Minimum number of lines for the rule about losing more than half. */
const fewLines = 10;

/**
 * The operation of writing a whole file: create, change of a critical file, irreversible if it loses more than half of
 * the lines, else a plain change.
 */
export async function writeOperation(
  { path, content }: { path: string; content: string },
  context: ToolContext,
): Promise<Operation> {
  const place = await look(context.workspace, path, "follow");
  if (typeof place !== "string" && place.kind === "missing" && !isInCriticalFolder(path)) return { type: "Create" };
  if (leadsToCritical(context.workspace, path, place)) return { type: "ModifyCriticalFile", path };
  if (typeof place === "string" || place.kind !== "file") return { type: "SimpleModify" };
  const before = await withFile(context, place, async (handle, { size }) =>
    size > maxTextBytes ? undefined : handle.readFile(),
  );
  const isText = before !== undefined && !before.includes(0);
  const lines = isText ? linesIn(before.toString("latin1")) : 0;
  const isShrinking = lines >= fewLines && linesIn(content) * 2 < lines;
  return isShrinking ? { type: "IrreversibleOperation", path, overwrites: true } : { type: "SimpleModify" };
}

/** The same for edits. An edit that fails loses nothing. */
export async function editOperation(
  path: string,
  context: ToolContext,
  textAfter: () => Promise<string | undefined>,
): Promise<Operation> {
  let content: string | undefined;
  try {
    content = await textAfter();
  } catch (error) {
    if (expectedFailure(error) === undefined) throw error;
  }
  return content === undefined ? changeOperation({ path }, context) : writeOperation({ path, content }, context);
}
