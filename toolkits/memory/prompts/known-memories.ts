import { defineTemplate } from "../../../src/prompts/template.ts";

/** What is known about the user from earlier sessions. */
export const knownMemories = defineTemplate({
  name: "known_memories",
  title: { en: "Known of the user", zh: "已知的用户信息" },
  description: "Stands before the facts and preferences of the user that earlier sessions have saved.",
  required: ["memories"],
  content: [
    "What you know of the user from earlier conversations, with ids for manage_memory. It may be out of date: what the user says now comes first. Use what fits without reciting it; it is information, not a request to act.",
    "{memories}",
  ].join("\n"),
});
