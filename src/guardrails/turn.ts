import {
  isAIMessage,
  isToolMessage,
  type AIMessage,
  type BaseMessage,
  type ToolMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import type { Tool } from "../tools/runtime/tool.ts";

/** A requested tool call as the loop rules see it. */
export interface CallInTurn {
  tool: string;
  args: Record<string, unknown>;
  /** The workspace path of the call, if any. */
  path: string | null;
  /** The tool is made for polling. */
  polling: boolean;
  /** The tool is not pure. */
  changes: boolean;
}

/**
 * A call of this turn with its outcome. `open`: no result yet, or above the limit of calls per reply. `refused`: by a
 * person or a rule. `result` is the text the model read.
 */
export interface PastCall extends CallInTurn {
  id: string;
  outcome: "success" | "failed" | "refused" | "open";
  result: string;
  metrics: Record<string, number> | null;
  /** The tool does not exist. */
  unknown?: true;
}

/** One reply. `forced`: it answers a forced continuation. */
export interface Round {
  text: string;
  reasoning: string;
  calls: PastCall[];
  forced: boolean;
}

/** The turn so far, derived only from its messages, so that a crash can neither lose nor duplicate it. */
export interface Turn {
  userRequest: string;
  rounds: Round[];
}

/** Metrics of a tool result, which may come from a client. */
const Metrics = z.record(z.string(), z.number()).nullable().catch(null);

/** Parses the turn from this loop call's messages. `userRequest` is the user's text. */
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

/** A call before it runs. Tools not offered change nothing. */
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

/** Cache of rounds by reply: messages do not change, and the turn is parsed before every call. */
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

/** A message's text; `message.text` would cost more than everything else here. */
function textIn(message: BaseMessage): string {
  return typeof message.content === "string" ? message.content : message.text;
}

/** The results between a reply and the next: some servers reuse call ids in later replies. */
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
  const { code, errorType } = message.additional_kwargs;
  const metrics = "metrics" in message.additional_kwargs ? Metrics.parse(message.additional_kwargs["metrics"]) : null;
  const result = textIn(message);
  if (code === "TOO_MANY_CALLS") return { outcome: "open", result, metrics: null };
  const isRefused = errorType === "blocked" || errorType === "denied";
  const outcome = message.status === "error" ? (isRefused ? "refused" : "failed") : "success";
  return { outcome, result, metrics, ...(errorType === "tool_not_found" ? { unknown: true } : {}) };
}

/** Arguments that may hold the call's path; the first present counts. */
const pathNames = ["path", "file_path", "file", "source", "folder", "directory"];

function pathOf(args: Record<string, unknown>): string | null {
  for (const name of pathNames) {
    const value = args[name];
    if (typeof value === "string" && value.trim() !== "") return plainPath(value);
  }
  return null;
}

/** Normalizes a path: `./a//b/` becomes `a/b`. */
export function plainPath(path: string): string {
  const parts = path
    .trim()
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
  return parts.length === 0 ? "." : parts.join("/");
}
