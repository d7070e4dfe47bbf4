import { documentFacts } from "./identity-variables.ts";
import { defineTemplate } from "../template.ts";

/** L0 of the chat profile, which has no tools. */
export const identityChat = defineTemplate({
  name: "identity_chat",
  title: { en: "Identity: chat", zh: "身份：聊天" },
  description: "An assistant for documents that only talks.",
  optional: documentFacts,
  content: [
    "You are an expert for documents and writing. Answer in the user's language, naturally and briefly, in plain sentences without",
    "signs for bold, headings, lists or code.",
  ].join("\n"),
});
