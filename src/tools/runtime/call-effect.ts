import { isAppError } from "@millrace/engine/errors/errors";
import type { Language } from "@millrace/engine/language";
import { shown } from "@millrace/engine/sessions/questions/questions";
import { diffLines, nearChanges, type DiffLine } from "../undo/line-diff.ts";
import { look } from "../workspace/file-checks.ts";
import { wholeText } from "../workspace/text-lines.ts";
import { locate } from "../workspace/workspace-path.ts";
import { expectedFailure } from "./result.ts";
import type { Operation, Tool, ToolContext, Touched } from "./tool.ts";

/** A preview of a call's effect. */
export interface CallEffect {
  kind: "create" | "modify" | "delete" | "move" | "edit" | "command" | "call";
  tool: string;
  operation: Operation;
  /** Workspace paths it would change; for a move source and destination. */
  paths: string[];
  /** Changed lines of a text file; absent if none or unknown. */
  diff?: EffectDiff;
  /** The command line that it would run. */
  command?: string;
  /** Whether the call can be undone. */
  undoable: boolean;
}

/** A preview diff; `more` counts the lines after these. */
interface EffectDiff {
  path: string;
  added: number;
  removed: number;
  lines: DiffLine[];
  more: number;
}

/** Lines shown of a diff, and context lines. */
const [maxLines, contextLines] = [500, 3];

/** Previews a call with valid arguments; changes nothing. `operation` is the one the rules use. */
export async function effectOf(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  operation: Operation,
): Promise<CallEffect> {
  const touched = tool.touches?.(input);
  const { command } = input;
  const line = typeof command === "string" ? command : undefined;
  const diff = touched?.kind === "write" ? await differenceOf(tool, input, context, touched) : undefined;
  return {
    kind: await kindOf(tool, touched, line, context),
    tool: tool.name,
    operation,
    paths: pathsOf(touched, operation),
    ...(diff !== undefined && { diff }),
    ...(line !== undefined && { command: line }),
    undoable: touched !== undefined && !isLost(operation),
  };
}

/** Whether what it removes is known not to be kept. */
function isLost(operation: Operation): boolean {
  return operation.type === "DeleteFolder" && (operation.not_kept ?? null) !== null;
}

async function kindOf(
  tool: Tool,
  touched: Touched | undefined,
  line: string | undefined,
  { workspace }: ToolContext,
): Promise<CallEffect["kind"]> {
  if (touched === undefined) return line === undefined ? "call" : "command";
  if (touched.kind === "move") return "move";
  if (touched.kind === "document") return "edit";
  if (tool.kinds?.includes("DeleteFile") === true) return "delete";
  const place = await look(workspace, touched.path, touched.lastLink);
  return typeof place !== "string" && place.kind === "missing" ? "create" : "modify";
}

function pathsOf(touched: Touched | undefined, operation: Operation): string[] {
  if (touched?.kind === "write") return [touched.path];
  if (touched?.kind === "move") return [touched.from, touched.to];
  return "path" in operation && operation.path !== "" ? [operation.path] : [];
}

async function differenceOf(
  tool: Tool,
  input: Record<string, unknown>,
  context: ToolContext,
  touched: Touched & { kind: "write" },
): Promise<EffectDiff | undefined> {
  try {
    const after = await tool.textAfter?.(input, context);
    if (after === undefined) return undefined;
    const place = await locate(context.workspace, touched.path, touched.lastLink);
    const before = place.kind === "missing" ? "" : await wholeText(context, place);
    const all = diffLines(before, after);
    const near = nearChanges(all, contextLines);
    return {
      path: place.path,
      added: all.filter(({ kind }) => kind === "added").length,
      removed: all.filter(({ kind }) => kind === "removed").length,
      lines: near.slice(0, maxLines),
      more: Math.max(0, near.length - maxLines),
    };
  } catch (error) {
    // Binary files and refused calls have no diff.
    if (isAppError(error) || expectedFailure(error) !== undefined) return undefined;
    throw error;
  }
}

const verbs = {
  en: { create: "Create", modify: "Change", delete: "Delete", move: "Move", edit: "Change in the editor:" },
  zh: { create: "创建", modify: "修改", delete: "删除", move: "移动", edit: "在编辑器中修改" },
};

/** Characters of a command line in a summary. */
const maxLineLength = 200;

/** One line about a call's effect, for a card. */
export function effectText({ kind, tool, paths, diff, command }: CallEffect, language: Language): string {
  const isEnglish = language === "en";
  if (kind === "call") return isEnglish ? `Call ${shown(tool)}` : `调用 ${shown(tool)}`;
  if (kind === "command") {
    const line = command ?? "";
    const cut = shown(line.length > maxLineLength ? `${line.slice(0, maxLineLength).toWellFormed()}…` : line);
    return isEnglish ? `Run ${cut}` : `运行 ${cut}`;
  }
  const [path = "", to = ""] = paths.map(shown);
  if (kind === "move") return isEnglish ? `Move ${path} to ${to}` : `移动 ${path} 到 ${to}`;
  const text = `${verbs[language][kind]} ${path}`.trim();
  if (diff === undefined) return text;
  return isEnglish
    ? `${text} (+${diff.added}, -${diff.removed} lines)`
    : `${text}（+${diff.added} 行，-${diff.removed} 行）`;
}
