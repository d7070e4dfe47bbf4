import {
  isAIMessage,
  isHumanMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { cutPrompt } from "@millrace/models/ollama/cut-prompt";
import { textOf } from "@millrace/engine/message-kinds";

/** When a request to a model is looked at. */
export type CheckMoment = "start" | "system_prompt" | "before_call" | "reply" | "end";

/** Something that is not as it should be. An error means that a strict provider would refuse it, or that it does not fit. */
export interface IntegrityProblem {
  moment: CheckMoment;
  severity: "warning" | "error";
  problem: string;
}

/** Tokens that a system text may have. */
const systemTokens = 30_000;
/** Shares of the window: from the first on it is said, above the second nothing more can be left out. */
const [warnAt, overflowAt] = [0.8, 0.9];

/** At the start: there is a message to answer, and each tool has a unique name and a description. */
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

/** The system text: it has its pieces, the first of which protects it, and is not too long. `tokens` is its length. */
export function checkSystem(parts: readonly { name: string; text: string }[], tokens: number): IntegrityProblem[] {
  const empty = parts.filter(({ text }) => text.trim() === "").map(({ name }) => name);
  return problems("system_prompt", [
    ["error", parts[0]?.name === "identity" ? "" : "the identity and its protection are missing"],
    ["warning", empty.length === 0 ? "" : `empty: ${empty.join(", ")}`],
    ["warning", tokens <= systemTokens ? "" : `the system text has ${tokens} tokens; ${systemTokens} are enough`],
  ]);
}

/** The tokens of a view that was already made as short as it may be. */
export function checkTokens(tokens: number, limit: number): IntegrityProblem[] {
  const ratio = tokens / limit;
  if (ratio < warnAt) return [];
  const severity = ratio > overflowAt ? "error" : "warning";
  return [{ moment: "before_call", severity, problem: `the window is ${Math.floor(ratio * 10) * 10} % full or more` }];
}

/**
 * The messages as they are sent: one system message, the first; the last of the user or a tool; every result after its
 * call. One look at each message, nothing is built.
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

/** A reply: each of its calls can be answered. */
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

/** The messages that a turn has added: every call has its result, and the turn ends in words. */
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
