import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { interrupt } from "@langchain/langgraph";
import { readUserAnswer } from "../../../src/loop/tool-call/user-question.ts";
import type { WorkflowNode } from "../../../src/state.ts";
import { openReview, type DesignSuggestion } from "./design-review.ts";
import { choiceIn, endingWords } from "./design-words.ts";

/** The interrupt after an iteration (kind `design_checkpoint`). */
export interface DesignCheckpointRequest {
  kind: "design_checkpoint";
  question: string;
  status_summary: string;
  suggestions: DesignSuggestion[];
  metrics: Record<string, number> | null;
  /** Why the last answer was not usable. */
  problem?: string;
}

/**
 * Asks how to go on after an iteration, without effects (law 1). A choice or free text becomes the user's next message;
 * accepting or stopping ends the turn.
 */
export const designCheckpoint: WorkflowNode = (state) => {
  const review = openReview(state.messages);
  if (review === undefined) return {};
  const { status_summary, suggestions, design_checkpoint } = review;
  const isChinese = /\p{Script=Han}/u.test(suggestions[0]?.label ?? "");
  let problem: string | undefined;
  for (;;) {
    const question: DesignCheckpointRequest = {
      kind: "design_checkpoint",
      question: `${status_summary}\n${isChinese ? "请选择，或者直接输入你的想法。" : "Choose, or say in your own words what comes next."}`,
      status_summary,
      suggestions,
      metrics: design_checkpoint.metrics,
      ...(problem === undefined ? {} : { problem }),
    };
    const answer = readUserAnswer(interrupt(question));
    switch (answer.kind) {
      case "words": {
        const chosen = choiceIn(answer.text, suggestions);
        const choiceMessage = wordsOf(chosen?.value ?? answer.text, chosen);
        if (chosen?.id !== "accept_design" && chosen?.id !== "stop") return { messages: [choiceMessage] };
        return { messages: [choiceMessage, closing(endingWords(chosen.id, isChinese))] };
      }
      case "agreed": {
        const first = suggestions[0] ?? null;
        return first === null ? {} : { messages: [wordsOf(first.value, first)] };
      }
      case "declined":
        return answer.why === ""
          ? { messages: [closing(endingWords("stop", isChinese))] }
          : { messages: [wordsOf(answer.why, null)] };
      case "unclear":
        ({ problem } = answer);
        break;
    }
  }
};

function wordsOf(text: string, chosen: DesignSuggestion | null): HumanMessage {
  return new HumanMessage({
    id: randomUUID(),
    content: text,
    additional_kwargs: {
      timestamp: new Date().toISOString(),
      answers: "design_checkpoint",
      choice: chosen?.id ?? null,
      ...(chosen === null ? {} : { suggestion_id: chosen.id }),
    },
  });
}

function closing(text: string): AIMessage {
  return new AIMessage({ id: randomUUID(), content: text, additional_kwargs: { timestamp: new Date().toISOString() } });
}
