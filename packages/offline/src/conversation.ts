import {
  isAIMessage,
  isHumanMessage,
  isSystemMessage,
  isToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import type { Language } from "@millrace/engine/language";
import { languageOf } from "./text.ts";

/** What a call wants: ordinary talk, or one of the workflow's own prompts, known by how it begins. */
export type Purpose = "talk" | "compress" | "final_answer";

/** A tool call with its result. */
export interface Exchange {
  name: string;
  args: Record<string, unknown>;
  text: string;
  success: boolean;
  /** A person or a rule did not allow it. */
  isDenied: boolean;
}

/** All the offline model looks at: what was asked, and what has come of it so far. */
export interface Conversation {
  purpose: Purpose;
  request: string;
  language: Language;
  /** Results since the request, in order. */
  exchanges: Exchange[];
  /** The same by the place in the work that asked for them, see `callId`. */
  byStep: Map<string, Exchange>;
  /** Replies with tool calls since the request. */
  rounds: number;
  messages: BaseMessage[];
}

const beginnings: readonly [Purpose, RegExp][] = [
  ["compress", /^(?:Summarise the conversation so far|Write the summary of the conversation above now)/mu],
  ["final_answer", /^No further tool call is possible: /mu],
];
const noteForms = [...beginnings.map(([, form]) => form), /^Note: \d+ rounds are used/u];

/**
 * A call id that says which action of the request, and which step of it, the call belongs to. Unique, and within the 40
 * characters that OpenAI's service takes: the loop gives a longer one another.
 */
export function callId(action: number, step: number): string {
  return `call_${action}_${step}_${crypto.randomUUID().replaceAll("-", "").slice(0, 20)}`;
}

/** Reads a list of messages as `Conversation`. */
export function readConversation(messages: BaseMessage[]): Conversation {
  const purpose = purposeOf(messages);
  const begin = requestIndex(messages);
  const message = messages[begin];
  const request = message === undefined ? "" : message.text;
  const since = messages.slice(begin + 1);
  const results = new Map(since.filter(isToolMessage).map((result) => [result.tool_call_id, result]));
  const exchanges: Exchange[] = [];
  const byStep = new Map<string, Exchange>();
  let rounds = 0;
  for (const reply of since.filter(isAIMessage)) {
    const calls = reply.tool_calls ?? [];
    if (calls.length > 0) rounds += 1;
    for (const call of calls) {
      const result = results.get(call.id ?? "");
      if (result === undefined) continue;
      const exchange = toExchange(call.name, call.args, result.text, result.status === "error");
      exchanges.push(exchange);
      const place = /^call_(\d+)_(\d+)_/u.exec(call.id ?? "");
      if (place !== null) byStep.set(`${place[1]}.${place[2]}`, exchange);
    }
  }
  return { purpose, request, language: languageOf(request), exchanges, byStep, rounds, messages };
}

function toExchange(name: string, args: Record<string, unknown>, text: string, isError: boolean): Exchange {
  // The lines of a file bear their numbers, which are no part of it.
  if (name === "read_file") text = text.replaceAll(/^\d+\t/gmu, "");
  const failed = isError || /^\s*(?:Error\b|\{\s*"success"\s*:\s*false)/u.test(text);
  const isDenied = failed && /\b(?:denied|refused this call|rejected|declined)\b|拒绝/iu.test(text);
  return { name, args, text, success: !failed, isDenied };
}

/** The closing note (the last message) counts before the system text. */
function purposeOf(messages: BaseMessage[]): Purpose {
  const last = messages.at(-1);
  const texts = [
    last !== undefined && isHumanMessage(last) ? last.text : "",
    ...messages.filter(isSystemMessage).map((m) => m.text),
  ];
  for (const text of texts) {
    const found = beginnings.find(([, form]) => form.test(text));
    if (found !== undefined) return found[0];
  }
  return "talk";
}

/** Words of the workflow for one call, which the user has not said. */
export function isNote(text: string): boolean {
  return noteForms.some((form) => form.test(text));
}

/** The message that says what to do: the last one of the user that is not a note. */
function requestIndex(messages: BaseMessage[]): number {
  const index = messages.findLastIndex((message) => isHumanMessage(message) && !isNote(message.text));
  return index === -1 ? messages.findLastIndex((message) => isHumanMessage(message)) : index;
}
