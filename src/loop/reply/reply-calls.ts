import { randomUUID } from "node:crypto";
import { isAIMessage, type AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { brokenArguments } from "@millrace/models/messages/broken-arguments";
import { isDeeperThan, isJsonObject } from "../../tools/runtime/nesting.ts";
import { repairedArguments } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { brokenArgumentsOf } from "./cut-output.ts";

/** A tool call of a message. */
export interface ReplyCall {
  name: string;
  args: Record<string, unknown>;
  id: string;
  type: "tool_call";
}

/** OpenAI's limits for histories: calls per message, characters of an id and of a name. */
const maxCalls = 128;
const maxIdLength = 40;
const maxNameLength = 64;
/** Maximum nesting of arguments. */
const maxDepth = 64;

/**
 * An answer's calls in a form that strict providers accept in a history (law 6): valid names, short unique ids, not too
 * many. Arguments that are not complete JSON stay as text; unusable calls are refused later. `isTaken`: the
 * conversation already has this call id.
 */
export function callsOf(answer: AIMessageChunk, isTaken: (id: string) => boolean = () => false): ReplyCall[] {
  const seen = new Set<string>();
  const own = (id = ""): string => {
    const isUsable = id !== "" && id.length <= maxIdLength && !seen.has(id) && !isTaken(id);
    const fresh = isUsable ? id : `call_${randomUUID().replaceAll("-", "")}`;
    seen.add(fresh);
    return fresh;
  };
  // Clients complete a cut-off streamed call as if it were whole; only its raw text shows that.
  const raw = brokenArgumentsOf(answer);
  const whole = (answer.tool_calls ?? []).map(({ name, args, id }) => {
    const text = raw.get(id ?? "");
    return { name, args: text === undefined ? args : { [brokenArguments]: text }, id };
  });
  const broken = (answer.invalid_tool_calls ?? []).map(({ name = "", args = "", id }) => ({
    name,
    args: { [brokenArguments]: args },
    id,
  }));
  return [...whole, ...broken].slice(0, maxCalls).map(({ name, args, id }) => ({
    name: asName(name),
    args: asArguments(args),
    id: own(id),
    type: "tool_call" as const,
  }));
}

/**
 * Replaces broken arguments by repaired ones, so that the history shows what ran: clients would show the broken text
 * and the model would repeat it. Calls cut at the length limit stay as they are.
 */
export function repairArguments(message: AIMessage, tools: readonly Tool[], cut: ReadonlySet<unknown>): void {
  for (const call of message.tool_calls ?? []) {
    const broken = call.args[brokenArguments];
    const tool = tools.find(({ name }) => name === call.name);
    if (typeof broken !== "string" || tool === undefined || cut.has(call.id)) continue;
    call.args = repairedArguments(tool, broken) ?? call.args;
  }
}

const idsOfCalls = overGrowingList<Set<unknown> | undefined>(undefined, (ids, message) => {
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  if (calls.length === 0) return ids;
  const known = ids ?? new Set();
  for (const { id } of calls) known.add(id);
  return known;
});

/**
 * Whether a message has a call with this id. Some servers restart their call ids with each reply; strict providers
 * refuse duplicates, and clients would mix up results.
 */
export function hasCall(messages: readonly BaseMessage[], id: string): boolean {
  return idsOfCalls(messages)?.has(id) === true;
}

/** Replaces invalid characters by `_`; such a tool is then not found. Some models send no name. */
function asName(name: unknown): string {
  return typeof name !== "string" || name === "" ? "unnamed" : name.replaceAll(/[^\w-]/gu, "_").slice(0, maxNameLength);
}

/** Arguments must be an object in a history; models may write any JSON. */
function asArguments(given: unknown): Record<string, unknown> {
  if (isDeeperThan(maxDepth, given)) return { [brokenArguments]: `(nested more than ${maxDepth} levels deep)` };
  return isJsonObject(given) ? given : { [brokenArguments]: JSON.stringify(given) ?? "" };
}

/** Whether the arguments came as complete JSON. Empty ones may mean that the call was cut before them. */
export function hasWholeArguments(args: Record<string, unknown>): boolean {
  return Object.keys(args).length > 0 && !(brokenArguments in args);
}
