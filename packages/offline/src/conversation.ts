import {
  isAIMessage,
  isHumanMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import type { Language } from "@millrace/engine/language";
import { languageOf } from "./text.ts";

/** The result of a tool call. */
export interface Exchange {
  name: string;
  text: string;
  success: boolean;
  /** Denied by a person or a rule. */
  isDenied: boolean;
}

/** What the model uses: the request and the results so far. */
export interface Conversation {
  /** The workflow requests a summary or a closing text instead of work. */
  purpose: "talk" | "compress" | "close";
  request: string;
  language: Language;
  /** Results since the request, by the step that requested them, see `callId`. */
  byStep: Map<string, Exchange>;
  /** Replies with tool calls since the request. */
  rounds: number;
  messages: BaseMessage[];
}

const compressing = /^(?:Summarise the conversation so far|Write the summary of the conversation above now)/mu;
const closing = /^No further tool call is possible: /mu;
const noteForms = [compressing, closing, /^Note: \d+ rounds are used/u];

/**
 * A call id that encodes the request's action and its step. Unique, and at most OpenAI's 40 characters: the loop would
 * replace a longer one.
 */
export function callId(action: number, step: number): string {
  return `call_${action}_${step}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
}

/** Parses messages as a `Conversation`. */
export function readConversation(messages: BaseMessage[]): Conversation {
  const begin = messages.findLastIndex((message) => isHumanMessage(message) && !isNote(message.text));
  const request = messages[begin]?.text ?? "";
  const since = messages.slice(begin + 1);
  const results = new Map(since.filter(isToolMessage).map((result) => [result.tool_call_id, result]));
  const byStep = new Map<string, Exchange>();
  const replies = since.filter(isAIMessage).map(({ tool_calls = [] }) => tool_calls);
  for (const call of replies.flat()) {
    const result = results.get(call.id ?? "");
    const place = /^call_(\d+)_(\d+)_/u.exec(call.id ?? "");
    if (result === undefined || place === null) continue;
    byStep.set(`${place[1]}.${place[2]}`, toExchange(call.name, result.text, result.status === "error"));
  }
  const rounds = replies.filter((calls) => calls.length > 0).length;
  return { purpose: purposeOf(messages), request, language: languageOf(request), byStep, rounds, messages };
}

const formatHeader = /^\[[^\n]*?: (?:the text of an? |in (?:UTF-16|GB 18030|Windows-1252);)[^\n]*?\]\n/u;

function toExchange(name: string, result: string, isError: boolean): Exchange {
  // Line numbers, and the header of a document's text, are not part of the file.
  const text = name === "read_file" ? result.replace(formatHeader, "").replaceAll(/^\d+\t/gmu, "") : result;
  const failed = isError || /^\s*(?:Error\b|\{\s*"success"\s*:\s*false)/u.test(text);
  const isDenied = failed && /\b(?:denied|refused this call|rejected|declined)\b|拒绝/iu.test(text);
  return { name, text, success: !failed, isDenied };
}

/** By the system text and the last message; a closing note takes precedence. */
function purposeOf(messages: BaseMessage[]): Conversation["purpose"] {
  const isOrder = (message: BaseMessage): boolean =>
    isSystemMessage(message) || (message === messages.at(-1) && isHumanMessage(message));
  const texts = messages.filter(isOrder).map(({ text }) => text);
  if (texts.some((text) => closing.test(text))) return "close";
  return texts.some((text) => compressing.test(text)) ? "compress" : "talk";
}

/** A note of the workflow for one call, not the user's text. */
function isNote(text: string): boolean {
  return noteForms.some((form) => form.test(text));
}

/** The structured summary for the workflow as JSON: the latest requests and the called tools. */
export function summarizeConversation({ messages }: Conversation): string {
  const requests = messages.filter((message) => isHumanMessage(message) && !isNote(message.text));
  const texts = requests.map(({ text }) => text.slice(0, 80));
  const calls = messages.filter((message) => isToolMessage(message) && message.status !== "error");
  return JSON.stringify({
    goal: texts[0] ?? "",
    completed: calls.slice(-8).map(({ name }) => name ?? ""),
    todo: [],
    attempted_solutions: [],
    current_problem: texts.length > 1 ? (texts.at(-1) ?? "") : "",
    key_decisions: texts.slice(1, -1).slice(-3),
  });
}
