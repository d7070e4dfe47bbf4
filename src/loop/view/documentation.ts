import type { CallDocuments, LoopState } from "../state.ts";
import { isAIMessage, isHumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import {
  documentPairs,
  laterDocumentation,
  loadDocuments,
  pairsToDrop,
  type DocumentPair,
} from "../../context/documentation/documentation.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countMessage } from "../../context/tokens/tokens.ts";
import { plainPath } from "../../guardrails/turn.ts";
import { builtInPrompts, type Prompts } from "../../prompts/prompts.ts";
import { filesNamed } from "../../user-rules/select-rules.ts";
import { emit, userRequestText, type LoopCall, type LoopRequest } from "../request.ts";
import { runIdOf, servicesOf, sessionIdOf } from "../services.ts";

/** Loads the documentation for a call, once, so that it stays the same while the model works. */
export async function documentsFor(
  request: LoopRequest,
  config: LangGraphRunnableConfig,
): Promise<CallDocuments | undefined> {
  const { documents: sources, invokeCallbacks, workspace } = servicesOf(config);
  const { reading } = request;
  if (sources === undefined || reading === undefined) return undefined;
  const inRun = { session_id: sessionIdOf(config), run_id: runIdOf(config) };
  const signal = config.signal ?? new AbortController().signal;
  const wanted = sources.filter(({ kind }) => reading.kinds === "all" || reading.kinds.includes(kind));
  const documents = await loadDocuments(wanted, { inRun, invokeCallbacks, signal });
  // Tasks written by a model name files too.
  const task = textOf(request.history.findLast((message) => isHumanMessage(message))?.content ?? "");
  const named = [userRequestText(request), task, request.instruction ?? ""].flatMap(filesNamed);
  const about = reading.files.filter((file) => file !== null);
  return { documents, files: [...about, ...named].map((file) => inWorkspace(file, workspace)) };
}

/**
 * Chooses the documentation that fits before the conversation and emits what was left out. `fixed`: tokens of
 * everything else except the history. Returns the number of pairs left out.
 */
export function chooseDocumentation(
  call: LoopCall,
  { fixed, limit }: { fixed: number; limit: number },
  config: LangGraphRunnableConfig,
): number {
  if (call.documents === undefined) return 0;
  const pairs = pairsOf(call);
  const request = call.history.findLast((message) => isHumanMessage(message));
  const needed = fixed + (request === undefined ? 0 : countMessage(request));
  const dropped = pairsToDrop(pairs, needed, limit);
  const kinds = pairs.slice(0, dropped).map(({ kind }) => kind);
  const key = `documentation_dropped ${kinds.join(" ")}`;
  if (dropped > 0 && !call.emitted.has(key)) {
    call.emitted.add(key);
    emit(config, { type: "documentation_dropped", kinds });
  }
  call.documentation = messagesOf(pairs.slice(dropped));
  return dropped;
}

/** Restores the choice of `chooseDocumentation` after a restart. */
export function recallDocumentation(state: LoopState, call: LoopCall): void {
  if (call.documents === undefined || call.documentation !== undefined) return;
  call.documentation = messagesOf(pairsOf(call).slice(state.view?.left_out ?? 0));
}

function pairsOf(call: LoopCall): DocumentPair[] {
  const { documents = [], files = [] } = call.documents ?? {};
  return documentPairs(documents, { ...readingContext(call), files });
}

function readingContext({ tools, prompts }: LoopCall): { toolNames: ReadonlySet<string>; prompts: Prompts } {
  return { toolNames: new Set(tools.map(({ name }) => name)), prompts: prompts ?? builtInPrompts };
}

/**
 * Documentation for files first named by the last calls. It is added after their results, so that requests keep their
 * prefix.
 */
export function documentationSince(messages: readonly BaseMessage[], call: LoopCall, workspace: string): string | null {
  if (call.documents === undefined) return null;
  const { documents, files } = call.documents;
  const last = messages.findLastIndex((message) => isAIMessage(message));
  const touched = (some: readonly BaseMessage[]): string[] =>
    filesTouched(some).map((file) => inWorkspace(file, workspace));
  const before = [...files, ...touched(messages.slice(0, Math.max(0, last)))];
  const now = touched(messages.slice(Math.max(0, last)));
  if (now.every((file) => before.includes(file))) return null;
  return laterDocumentation(documents, { ...readingContext(call), files: [...before, ...now], before });
}

function messagesOf(pairs: readonly DocumentPair[]): BaseMessage[] {
  return pairs.flatMap(({ messages }) => messages);
}

/** Arguments that are paths. */
const pathNames = ["path", "source", "destination", "file_path"];

/** Files named in the arguments of these messages' calls. */
function filesTouched(messages: readonly BaseMessage[]): string[] {
  const calls = messages.flatMap((message) => (isAIMessage(message) ? (message.tool_calls ?? []) : []));
  return calls.flatMap(({ args }) => {
    const given: Record<string, unknown> = args;
    return pathNames.map((name) => given[name]).filter((value) => typeof value === "string");
  });
}

/** The path relative to the workspace, as rules use it. */
function inWorkspace(file: string, workspace: string): string {
  return plainPath(file.startsWith(`${workspace}/`) ? file.slice(workspace.length + 1) : file);
}
