import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { interrupt } from "@langchain/langgraph";
import { languageOfWords } from "@millrace/engine/language";
import { readUserAnswer } from "../loop/tool-call/user-question.ts";
import type { Clarification, WorkflowNode } from "../state.ts";
import { clarificationText } from "./intent/clarification.ts";
import { lastUserText } from "./turn/request-words.ts";
import { endTurn } from "./turn/turn.ts";

/** The interrupt that asks about an unclear request (kind `clarify`). */
export interface ClarifyRequest extends Clarification {
  kind: "clarify";
  question: string;
  /** Why the last answer could not be used. */
  problem?: string;
}

/**
 * Interrupts with the question that `intent` stored, so it has no effects (law 1). The answer becomes the user's next
 * message; a refusal ends the turn.
 */
export const clarify: WorkflowNode = async (state, config) => {
  const { clarification } = state;
  if (clarification === null) return {};
  let problem: string | undefined;
  for (;;) {
    const question: ClarifyRequest = {
      kind: "clarify",
      question: clarificationText(clarification),
      ...clarification,
      ...(problem === undefined ? {} : { problem }),
    };
    const answer = readUserAnswer(interrupt(question));
    const isChinese = languageOfWords(lastUserText(state.messages)) === "zh";
    switch (answer.kind) {
      case "words":
        return { messages: [userMessage(answer.text)] };
      case "agreed":
        return { messages: [userMessage(isChinese ? "就按你的理解来。" : "Go on with what you assume.")] };
      case "declined": {
        if (answer.why !== "") return { messages: [userMessage(answer.why)] };
        const goodbye = new AIMessage({
          id: randomUUID(),
          content: isChinese ? "好的，那就先不做了。" : "All right, I leave it at that.",
          additional_kwargs: { timestamp: new Date().toISOString() },
        });
        return { messages: [goodbye], clarification: null, ...endTurn(state, undefined, config) };
      }
      case "unclear":
        ({ problem } = answer);
        break;
    }
  }
};

function userMessage(text: string): HumanMessage {
  return new HumanMessage({ id: randomUUID(), content: text, additional_kwargs: { answers: "clarify" } });
}
