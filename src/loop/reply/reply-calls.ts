import { randomUUID } from "node:crypto";
import { isAIMessage, type AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { overGrowingList } from "../../context/compression/growing-list.ts";
import { brokenArguments } from "@millrace/models/messages/broken-arguments";
import { repairedArguments } from "../../tools/runtime/run-tool.ts";
import type { Tool } from "../../tools/runtime/tool.ts";
import { brokenArgumentsOf } from "./cut-output.ts";

/** A call as it stands in a message. */
export interface ReplyCall {
  name: string;
  args: Record<string, unknown>;
  id: string;
  type: "tool_call";
}

/** What OpenAI's service takes back in a history at most: calls in one message, and characters of an id and of a name. */
const mostCalls = 128;
const longestId = 40;
const longestName = 64;
/** Nobody needs arguments that are nested deeper; what walks through them level by level would run out of stack. */
const deepest = 64;

/**
 * The calls of an answer, in a form that a strict provider takes back (law 6): names that are names, ids that are short
 * and their own, not too many. Arguments that are not whole JSON stand as text. What a model did not ask for in this
 * form is refused later like any other wrong call. `isTaken`: another call of the conversation has this id.
 */
export function callsOf(answer: AIMessageChunk, isTaken: (id: string) => boolean = () => false): ReplyCall[] {
  const seen = new Set<string>();
  const own = (id = ""): string => {
    const isUsable = id !== "" && id.length <= longestId && !seen.has(id) && !isTaken(id);
    const fresh = isUsable ? id : `call_${randomUUID().replaceAll("-", "")}`;
    seen.add(fresh);
    return fresh;
  };
  // A streamed call that breaks off is completed by the client as if it were whole; only its text tells.
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
  return [...whole, ...broken].slice(0, mostCalls).map(({ name, args, id }) => ({
    name: asName(name),
    args: asArguments(args),
    id: own(id),
    type: "tool_call" as const,
  }));
}

/**
 * Puts repaired arguments in the place of broken ones, so that the history keeps what is run: clients would show the
 * broken text, and a model would repeat it. Calls that were cut at the length limit stay as they are.
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
 * Whether a message of the list has a call of this id. Some servers count the calls of each reply anew; strict
 * providers refuse a history with the same id twice, and clients show the result of one call at the other.
 */
export function hasCall(messages: readonly BaseMessage[], id: string): boolean {
  return idsOfCalls(messages)?.has(id) === true;
}

/** The name with a mark for each character that no name has; such a tool is then not found. Some models write none. */
function asName(name: unknown): string {
  return typeof name !== "string" || name === "" ? "unnamed" : name.replaceAll(/[^\w-]/gu, "_").slice(0, longestName);
}

/** Clients give whatever JSON the model wrote: a text, a list or nothing is no object, which a history must hold. */
function asArguments(given: unknown): Record<string, unknown> {
  if (isTooDeep(given)) return { [brokenArguments]: `(nested more than ${deepest} levels deep)` };
  const read = Arguments.safeParse(given);
  return read.success ? read.data : { [brokenArguments]: JSON.stringify(given) ?? "" };
}

const Arguments = z.record(z.string(), z.unknown());

function isTooDeep(given: unknown): boolean {
  let level = [given];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > deepest) return true;
    level = level.flatMap((value): unknown[] =>
      typeof value === "object" && value !== null ? Object.values(value) : [],
    );
  }
  return false;
}

/** Arguments that came as whole JSON. None at all may be a call that was cut before them. */
export function hasWholeArguments(args: Record<string, unknown>): boolean {
  return Object.keys(args).length > 0 && !(brokenArguments in args);
}
