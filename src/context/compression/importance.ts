import { isAIMessage, isHumanMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";

/** Importance of a message for compression, highest first. */
export type ImportanceClass = "must_keep" | "prefer" | "compressible" | "discardable";

/** The classes as the API names them. */
export const importanceLevels = ["HIGH", "MEDIUM", "LOW"] as const;
export type ImportanceLevel = (typeof importanceLevels)[number];

/** Characters examined per message. */
const lookedAt = 2000;

const goals = /design (?:goals?|targets?|requirements?|specifications?)|设计目标|设计要求|设计指标/iu;
const confirms = /\b(?:confirm(?:s|ed)?|agreed?|approved?)\b|确认|同意|认可/iu;
const onlyConfirms =
  /^\s*(?:yes|y|ok(?:ay)?|sure|right|fine|go (?:on|ahead)|continue|confirm(?:ed)?|agreed?|是的?|好的?|可以|行|对|嗯|没问题|继续|确认|同意)\s*[.!,。！，]*\s*$/iu;
/** Analysis of simulations, advice on parameters, decisions. */
const telling = [
  /\b(?:simulat(?:ion|ed|ions)|bandwidth|phase margin|frequency response|transient|waveform)\b|仿真|带宽|相位裕度|频率响应|瞬态|波形/iu,
  /\b(?:increase|decrease|reduce|raise|lower|adjust|set|change)\b.{0,40}\b(?:from|to|by)\b.{0,20}\d|\bparameters?\b|参数|(?:增大|减小|提高|降低|调整|改为)/iu,
  /\b(?:we(?:'ll| will)|let(?:'s| us)|i(?:'ll| will)) (?:use|take|go with|keep|choose)\b|\b(?:decided?|decision|chose|chosen|settled on)\b|决定|选定|采用|选择了/iu,
];

/** The API's level of a class. LOW may be cut or left out. */
export function levelOf(importance: ImportanceClass): ImportanceLevel {
  if (importance === "must_keep") return "HIGH";
  return importance === "prefer" ? "MEDIUM" : "LOW";
}

/**
 * Classifies a message by rule. A call has the class of its results, so that both stay or go. Only neighbouring
 * messages are examined.
 */
export function importanceOf(messages: readonly BaseMessage[], at: number): ImportanceClass {
  const message = messages[at];
  if (message === undefined) return "compressible";
  if (isToolMessage(message)) return wasRetried(messages, at) ? "discardable" : "must_keep";
  if (isHumanMessage(message)) return ofRequest(messages, at, beginning(message));
  if (!isAIMessage(message)) return message.type === "system" ? "must_keep" : "compressible";
  const results = resultsOf(messages, at);
  if (results.length > 0) return results.every((place) => wasRetried(messages, place)) ? "discardable" : "must_keep";
  if (message.additional_kwargs["is_partial"] === true) {
    return messages.findLastIndex((other) => isAIMessage(other)) === at ? "compressible" : "discardable";
  }
  const text = beginning(message);
  const next = messages[at + 1];
  const isConfirmed = next !== undefined && isHumanMessage(next) && onlyConfirms.test(beginning(next));
  if (goals.test(text) && (isConfirmed || confirms.test(text))) return "must_keep";
  return byWords(text);
}

function beginning(message: BaseMessage): string {
  return textOf(message.content).slice(0, lookedAt);
}

function byWords(text: string): ImportanceClass {
  return telling.some((words) => words.test(text)) ? "prefer" : "compressible";
}

function ofRequest(messages: readonly BaseMessage[], at: number, text: string): ImportanceClass {
  if (!onlyConfirms.test(text)) return goals.test(text) && confirms.test(text) ? "must_keep" : byWords(text);
  const question = lastBefore(messages, at, isAIMessage);
  if (question !== undefined && goals.test(beginning(question))) return "must_keep";
  const request = lastBefore(messages, at, isHumanMessage);
  return request !== undefined && onlyConfirms.test(beginning(request)) ? "discardable" : "compressible";
}

function lastBefore(
  messages: readonly BaseMessage[],
  at: number,
  is: (message: BaseMessage) => boolean,
): BaseMessage | undefined {
  for (let place = at - 1; place >= 0; place -= 1) {
    const message = messages[place];
    if (message !== undefined && is(message)) return message;
  }
  return undefined;
}

/** Indexes of a call's results. */
function resultsOf(messages: readonly BaseMessage[], at: number): number[] {
  const places: number[] = [];
  for (let place = at + 1; isResult(messages[place]); place += 1) places.push(place);
  const call = messages[at];
  return call !== undefined && isAIMessage(call) && (call.tool_calls ?? []).length > 0 ? places : [];
}

function isResult(message: BaseMessage | undefined): boolean {
  return message !== undefined && isToolMessage(message);
}

/** Whether a result failed and its tool was called again in the same turn. */
function wasRetried(messages: readonly BaseMessage[], at: number): boolean {
  const result = messages[at];
  if (result === undefined || !isToolMessage(result) || result.status !== "error") return false;
  for (let place = at + 1; ; place += 1) {
    const later = messages[place];
    if (later === undefined || isHumanMessage(later)) return false;
    if (isAIMessage(later) && (later.tool_calls ?? []).some(({ name }) => name === result.name)) return true;
  }
}
