import {
  isAIMessage,
  isHumanMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { cutPrompt } from "@millrace/models/ollama/cut-prompt";
import { textOf } from "@millrace/engine/message-kinds";

/** When a check runs. */
export type CheckMoment = "start" | "system_prompt" | "before_call" | "reply" | "end";

/** A problem. An error means that a strict provider would refuse the request, or that it does not fit. */
export interface IntegrityProblem {
  moment: CheckMoment;
  severity: "warning" | "error";
  problem: string;
}

/** Maximum tokens of a system text. */
const systemTokens = 30_000;
/** Shares of the window: above the first a warning, above the second an error. */
const [warnAt, overflowAt] = [0.8, 0.9];

/** At the start: there is a user message, and each tool has a unique name and a description. */
export function checkStart(request: {
  history: readonly BaseMessage[];
  instruction?: string;
  tools: readonly { name: string; description: string }[];
}): IntegrityProblem[] {
  const { history, instruction, tools } = request;
  const names = tools.map(({ name }) => name);
  const twice = names.filter((name, index) => names.indexOf(name) !== index);
  const silent = tools.filter(({ description }) => description.trim() === "").map(({ name }) => name);
  const hasRequest = instruction !== undefined || history.some((message) => isHumanMessage(message));
  return problems("start", [
    ["error", hasRequest ? "" : "there is no message of the user"],
    ["error", twice.length === 0 ? "" : `two tools have the name ${twice.join(", ")}`],
    ["warning", silent.length === 0 ? "" : `no description: ${silent.join(", ")}`],
  ]);
}

/** The system text has non-empty parts, starts with the identity, and is not too long. `tokens` is its length. */
export function checkSystem(parts: readonly { name: string; text: string }[], tokens: number): IntegrityProblem[] {
  const empty = parts.filter(({ text }) => text.trim() === "").map(({ name }) => name);
  return problems("system_prompt", [
    ["error", parts[0]?.name === "identity" ? "" : "the identity and its protection are missing"],
    ["warning", empty.length === 0 ? "" : `empty: ${empty.join(", ")}`],
    ["warning", tokens <= systemTokens ? "" : `the system text has ${tokens} tokens; ${systemTokens} are enough`],
  ]);
}

/** Tokens of a view that was already shortened as far as possible. */
export function checkTokens(tokens: number, limit: number): IntegrityProblem[] {
  const ratio = tokens / limit;
  if (ratio < warnAt) return [];
  const severity = ratio > overflowAt ? "error" : "warning";
  return [{ moment: "before_call", severity, problem: `the window is ${Math.floor(ratio * 10) * 10} % full or more` }];
}

/**
 * The messages to send: one system message, first; the last from the user or a tool; each result after its call. One
 * pass without allocation.
 */
export function checkMessages(messages: readonly BaseMessage[]): IntegrityProblem[] {
  const first = messages[0];
  const last = messages.at(-1);
  const found: [IntegrityProblem["severity"], string][] = [];
  if (first === undefined || !isSystemMessage(first)) found.push(["error", "the first message is no system message"]);
  if (last === undefined || !(isHumanMessage(last) || isToolMessage(last))) {
    found.push(["error", "the last message is neither of the user nor of a tool"]);
  }
  for (let index = 1; index < messages.length; index += 1) {
    const message = messages[index];
    const before = messages[index - 1];
    if (message === undefined || before === undefined || isHumanMessage(message) || isAIMessage(message)) continue;
    if (!isToolMessage(message)) found.push(["error", `message ${index + 1} has the role ${message.getType()}`]);
    else if (!isToolMessage(before) && !(isAIMessage(before) && (before.tool_calls?.length ?? 0) > 0)) {
      found.push(["error", `message ${index + 1} is a result without a call`]);
    }
  }
  return problems("before_call", found);
}

/** A reply: each call has a name and a unique id. */
export function checkReply(message: BaseMessage): IntegrityProblem[] {
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  const ids = calls.map(({ id }) => id);
  const cut = cutPrompt(message);
  const lost =
    cut && `the model has read only ${cut.read} of at least ${cut.sent_at_least} tokens: its server cut them off`;
  return problems("reply", [
    ["warning", lost ?? ""],
    ["error", calls.every(({ name }) => name !== "") ? "" : "a call names no tool"],
    ["error", ids.every(Boolean) && new Set(ids).size === ids.length ? "" : "calls without an id of their own"],
  ]);
}

/** A turn's messages: every call has a result, and the last one is an answer in words. */
export function checkEnd(messages: readonly BaseMessage[]): IntegrityProblem[] {
  const open = new Set<string>();
  for (const message of messages) {
    if (isToolMessage(message)) open.delete(message.tool_call_id);
    else if (isAIMessage(message)) for (const { id } of message.tool_calls ?? []) open.add(id ?? "");
  }
  const last = messages.at(-1);
  const hasWords = last !== undefined && isAIMessage(last) && textOf(last.content).trim() !== "";
  return problems("end", [
    ["error", open.size === 0 ? "" : `calls without a result: ${[...open].join(", ")}`],
    ["error", hasWords ? "" : "the turn does not end with words of the assistant"],
  ]);
}

function problems(moment: CheckMoment, found: [IntegrityProblem["severity"], string][]): IntegrityProblem[] {
  return found.flatMap(([severity, problem]) => (problem === "" ? [] : [{ moment, severity, problem }]));
}
