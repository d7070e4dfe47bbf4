import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { runLoop } from "../../loop/loop.ts";
import { emit } from "../../loop/request.ts";
import { promptsOf } from "../../loop/services.ts";
import { clarifyPrompt } from "../../prompts/templates/clarify.ts";
import type { Clarification, GraphState } from "../../state.ts";
import { readReply } from "./answer.ts";
import { nodeRequest, offeredTools, runContext } from "../turn/node-request.ts";
import { lastUserText } from "../turn/request-words.ts";

const words = z.string().trim().min(1).max(300);
const ClarificationAnswer = z.object({
  guess: words,
  defaults: z.array(words).max(5).catch([]),
  questions: z.array(words).min(1),
  suggestions: z.array(words).max(6).catch([]),
});

/** A question that only asks for more details; the user would not know what to answer. */
const bareQuestion =
  /^(?:(?:could|can|would) you )?(?:please )?(?:give|provide|share|tell)(?: me| us)? (?:some )?(?:more|further|additional) (?:details?|information|context)|^(?:请|能否|可以)?(?:补充|提供|给出|说明)(?:一下)?(?:更多|更详细|具体|详细)?的?(?:信息|细节|内容|需求|说明)?[?？。吗]*$/iu;

/**
 * The assumption and the questions about an unclear request: written by the model, or fixed texts if its answer is
 * unusable.
 */
export async function clarificationOf(state: GraphState, config: LangGraphRunnableConfig): Promise<Clarification> {
  const tools = offeredTools(runContext(config), config).map((tool) => tool.name);
  const task = clarifyPrompt({ tools }, promptsOf(config));
  const request = nodeRequest("intent", state, config, { task, tools: [], silent: true, role: "intent" });
  const { final_response } = await runLoop(request, config);
  const answer = readReply("clarify", final_response, ClarificationAnswer, config);
  const ownWords = plainClarification(lastUserText(state.messages));
  if (answer.kind === "unreadable") {
    emit(config, { type: "retry", what: "clarification", attempt: 1, reason: answer.problem });
    return ownWords;
  }
  const questions = answer.value.questions.filter((question) => !bareQuestion.test(question)).slice(0, 2);
  return { ...answer.value, questions: questions.length > 0 ? questions : ownWords.questions };
}

/** The assistant's message: the assumption, then the questions. */
export function clarificationMessage(clarification: Clarification): AIMessage {
  return new AIMessage({
    id: randomUUID(),
    content: clarificationText(clarification),
    additional_kwargs: { timestamp: new Date().toISOString(), clarify: true, suggestions: clarification.suggestions },
  });
}

/** The assumption, its defaults and the questions, as one text. */
export function clarificationText({ guess, defaults, questions }: Clarification): string {
  return [guess, ...defaults, ...questions].join("\n");
}

/** The fixed texts, in the language of the request. */
export function plainClarification(request: string): Clarification {
  if (/\p{Script=Han}/u.test(request)) {
    return {
      guess: "我先这样理解：你想要一份简短的文字结果，直接在对话里给出。",
      defaults: ["篇幅：大约一页", "格式：普通文字，不建文件"],
      questions: ["它是关于哪个主题，或者哪个文件的？"],
      suggestions: ["关于工作区里的一个文件", "关于一个主题，我来说", "就按你的理解来"],
    };
  }
  return {
    guess: "I take it that you want a short result in words, given here in the conversation.",
    defaults: ["Length: about one page", "Form: plain text, no file"],
    questions: ["Which subject, or which file, is it about?"],
    suggestions: ["A file in the workspace", "A subject that I name", "Go on with what you assume"],
  };
}
