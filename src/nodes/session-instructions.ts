import { isSystemMessage, type BaseMessage } from "@langchain/core/messages";
import { overGrowingList } from "../context/growing-list.ts";
import { textOf } from "../context/tokens.ts";
import type { Prompts } from "../prompts/prompts.ts";
import { sessionInstructions } from "../prompts/session-instructions.ts";

/** Each text once: some clients send theirs with every message. */
const systemTexts = overGrowingList<readonly string[]>([], (texts, message) => {
  const text = isSystemMessage(message) ? textOf(message.content).trim() : "";
  return text === "" || texts.includes(text) ? texts : [...texts, text];
});

/**
 * The system texts of a conversation, for the one system message that a model is sent (PROMPT-02, CTX-20): so they stay
 * through every compression (COMP-12). Empty where there are none.
 */
export function instructionsIn(messages: readonly BaseMessage[], prompts: Prompts): string {
  const texts = systemTexts(messages);
  return texts.length === 0 ? "" : prompts.text(sessionInstructions, { instructions: texts.join("\n\n") });
}
