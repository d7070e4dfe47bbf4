import { randomUUID } from "node:crypto";
import { AIMessage, isToolMessage, type BaseMessage } from "@langchain/core/messages";
import { textOf } from "@millrace/engine/message-kinds";
import { type Language, languageOfWords } from "@millrace/engine/language";
import { userLanguage, type LoopRequest } from "../request.ts";
import type { EndReason } from "../state.ts";

const openings: Record<EndReason, Record<Language, string>> = {
  answered: { en: "The model gave no answer in words.", zh: "模型没有给出文字答复。" },
  completed: { en: "The task is complete.", zh: "任务已完成。" },
  iteration_limit: {
    en: "I stopped here because the limit of rounds for one turn is reached.",
    zh: "我在此停止：单次对话的轮数已达上限。",
  },
  timeout: {
    en: "I stopped here because the time for one turn is used up.",
    zh: "我在此停止：单次对话的时间已用完。",
  },
  token_limit: {
    en: "I stopped here because the token budget for one turn is used up.",
    zh: "我在此停止：单次对话的 token 预算已用完。",
  },
  cost_limit: {
    en: "I stopped here because the cost budget for one turn is used up.",
    zh: "我在此停止：单次对话的费用预算已用完。",
  },
  owner_limit: {
    en: "I stopped here because no more models may be asked for you at the moment.",
    zh: "我在此停止：目前不能再为您调用模型。",
  },
  guardrail: {
    en: "I stopped here because I was going round in circles and got no further.",
    zh: "我在此停止：我在原地打转，没有进展。",
  },
  cancelled: { en: "I was stopped.", zh: "已被停止。" },
  error: {
    en: "I had to stop because the model could not be asked again.",
    zh: "我不得不停止：无法再次请求模型。",
  },
};

/** The opening after a failed tool with `continue_on_tool_error: false`. */
const afterFailedTool: Record<Language, string> = {
  en: "I stopped here because a tool call failed.",
  zh: "我在此停止：一次工具调用失败了。",
};

const words: Record<Language, { reason: string; done: string }> = {
  en: { reason: "Reason", done: "What was done so far:" },
  zh: { reason: "原因", done: "目前已完成：" },
};

/** Characters shown of each result. */
const shownLength = 160;

/** The final message if the model gave none: why the turn ended and what its tools did, in the user's language. */
export function finalMessage(...given: Parameters<typeof finalText>): AIMessage {
  return programMessage(finalText(...given), given[1]);
}

/** A message by the program that ends a turn. */
export function programMessage(content: string, reason: EndReason): AIMessage {
  return new AIMessage({
    id: randomUUID(),
    // A shortened line may end in half a surrogate pair.
    content: content.toWellFormed(),
    additional_kwargs: { timestamp: new Date().toISOString(), end_reason: reason },
  });
}

/** The message if the model never called the chosen tool. */
export function notCalled(tool: string, call: LoopRequest): AIMessage {
  const isChinese = userLanguage(call) === "zh";
  const text = isChinese
    ? `未能调用您指定的工具 ${tool}：模型只用文字回答，再次要求后仍是如此。请换一个能调用工具的模型，或不指定工具后重试。`
    : `The tool that you chose, ${tool}, was not called: the model answered in words, also when it was asked again. Choose a model that calls tools, ` +
      "or ask again without choosing one.";
  return programMessage(text, "error");
}

function finalText(
  { messages, last_error }: { messages: readonly BaseMessage[]; last_error: string | null },
  reason: EndReason,
  userRequest: string,
): string {
  const language = languageOfWords(userRequest);
  const isByTool = reason === "error" && last_error === null;
  const lines = [(isByTool ? afterFailedTool : openings[reason])[language]];
  if (last_error !== null) lines.push(`${words[language].reason}: ${last_error}`);
  const results = messages.filter(isToolMessage);
  if (results.length > 0) lines.push(words[language].done);
  for (const result of results) {
    // Lines of a file start with their number.
    const text = (textOf(result.content).split("\n", 1)[0] ?? "").replace(/^\d+\t/u, "");
    lines.push(
      `- ${result.name ?? "tool"}: ${text.length > shownLength ? `${text.slice(0, shownLength - 1)}…` : text}`,
    );
  }
  return lines.join("\n");
}
