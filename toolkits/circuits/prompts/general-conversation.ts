import { defineTemplate } from "../../../src/prompts/template.ts";

/** PROMPT_GENERAL_CONVERSATION: talk about circuits. */
export const generalConversation = defineTemplate({
  name: "general_conversation",
  title: { en: "Conversation", zh: "通用对话" },
  description: "Answers a question about circuits without changing anything.",
  required: ["message"],
  optional: ["context"],
  content: [
    "Answer the user's message. Change no circuit and run nothing. Explain at the depth that the message shows, and use numbers and",
    "short formulas where they help.",
    "Message: {message}",
    "Context: {context}",
  ].join("\n"),
});
