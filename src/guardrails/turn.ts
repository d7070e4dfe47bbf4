import {
  isAIMessage,
  isToolMessage,
  type AIMessage,
  type BaseMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import type { Tool } from "../tools/runtime/tool.ts";

/** A tool call that the model makes, as the rules against loops see it. */
export interface CallInTurn {
  tool: string;
  args: Record<string, unknown>;
  /** The path of the workspace that the call is about, if any. */
  path: string | null;
  /** The tool says that asking again and again is its purpose. */
  polling: boolean;
  /** The tool may change something: it is not pure. */
  changes: boolean;
}

/**
 * A call of this turn with what became of it. `open`: it has not run, because its result has not come yet or because it
 * was beyond the number of calls that one reply may hold. `refused`: by a person or a rule. `result` is what the model read.
 */
export interface PastCall extends CallInTurn {
  id: string;
  outcome: "success" | "failed" | "refused" | "open";
  result: string;
  metrics: Record<string, number> | null;
  /** There is no such tool. */
  unknown?: true;
}

/** One reply of the model. `forced`: it answers a forced continuation. */
export interface Round {
  text: string;
  reasoning: string;
  calls: PastCall[];
  forced: boolean;
}

/** What this turn has come to so far. The messages are its only source, so that a crash can neither lose nor double it. */
export interface Turn {
  userRequest: string;
  rounds: Round[];
}

/** What `call_tool` notes at a result; only what is read here. */
const ResultNotes = z.object({
  code: z.string().optional().catch(undefined),
  errorType: z.string().optional().catch(undefined),
  metrics: z.record(z.string(), z.number()).optional().catch(undefined),
});

/** Reads the turn off the messages that this call of the loop has added. `userRequest` is the user's own text. */
export function readTurn(
  messages: readonly BaseMessage[],
  about: { userRequest: string; tools: readonly Tool[] },
): Turn {
  const rounds: Round[] = [];
  for (const [index, message] of messages.entries()) {
    if (isAIMessage(message)) rounds.push(knownRound(message, resultsAfter(messages, index), about.tools));
  }
  return { userRequest: about.userRequest, rounds };
}

/** A call as the rules see it before it runs. A tool that is not offered changes nothing. */
export function callInTurn(name: string, args: Record<string, unknown>, tools: readonly Tool[]): CallInTurn {
  const tool = tools.find((candidate) => candidate.name === name);
  return {
    tool: name,
    args,
    path: pathOf(args),
    polling: tool?.inTurn?.polling ?? false,
    changes: tool !== undefined && tool.effect !== "pure",
  };
}

/** Rounds that were read before, by their reply. Messages do not change, and a turn is read before every call. */
const known = new WeakMap<AIMessage, { round: Round; results: ToolMessage[]; tools: readonly Tool[] }>();

function knownRound(message: AIMessage, results: ToolMessage[], tools: readonly Tool[]): Round {
  const earlier = known.get(message);
  const isSame =
    earlier !== undefined &&
    earlier.tools === tools &&
    earlier.results.length === results.length &&
    earlier.results.every((result, index) => result === results[index]);
  if (isSame) return earlier.round;
  const round = readRound(message, results, tools);
  known.set(message, { round, results, tools });
  return round;
}

function readRound(message: AIMessage, results: ToolMessage[], tools: readonly Tool[]): Round {
  const reasoning: unknown = message.additional_kwargs["reasoning_content"];
  return {
    text: textIn(message),
    reasoning: typeof reasoning === "string" ? reasoning : "",
    forced: message.additional_kwargs["forced_by"] !== undefined,
    calls: (message.tool_calls ?? []).map((call) => ({
      id: call.id ?? "",
      ...callInTurn(call.name, call.args, tools),
      ...readResult(results.find((result) => result.tool_call_id === call.id)),
    })),
  };
}

/** The words of a message. Asking a message for its text costs more than all else that is read of it. */
function textIn(message: BaseMessage): string {
  return typeof message.content === "string" ? message.content : message.text;
}

/** The results between a reply and the next one: some servers use the id of a call again in a later reply. */
function resultsAfter(messages: readonly BaseMessage[], index: number): ToolMessage[] {
  const results: ToolMessage[] = [];
  for (let at = index + 1; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined || isAIMessage(message)) break;
    if (isToolMessage(message)) results.push(message);
  }
  return results;
}

function readResult(message: ToolMessage | undefined): Pick<PastCall, "outcome" | "result" | "metrics" | "unknown"> {
  if (message === undefined) return { outcome: "open", result: "", metrics: null };
  const { code, errorType, metrics } = ResultNotes.parse(message.additional_kwargs);
  const result = textIn(message);
  if (code === "TOO_MANY_CALLS") return { outcome: "open", result, metrics: null };
  const isRefused = errorType === "blocked" || errorType === "denied";
  const outcome = message.status === "error" ? (isRefused ? "refused" : "failed") : "success";
  return { outcome, result, metrics: metrics ?? null, ...(errorType === "tool_not_found" ? { unknown: true } : {}) };
}

/** The names under which tools take the path they are about; the first that is there counts. */
const pathNames = ["path", "file_path", "file", "source", "folder", "directory"];

function pathOf(args: Record<string, unknown>): string | null {
  for (const name of pathNames) {
    const value = args[name];
    if (typeof value === "string" && value.trim() !== "") return plainPath(value);
  }
  return null;
}

/** A path in one spelling: `./a//b/` and `a/b` are the same. */
export function plainPath(path: string): string {
  const parts = path
    .trim()
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  return parts.length === 0 ? "." : parts.join("/");
}
