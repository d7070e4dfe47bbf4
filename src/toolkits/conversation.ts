import { conversationTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/** Tools of every conversation: ask, end, reread hidden history. */
export const conversation = defineToolkit({
  name: "conversation",
  title: { en: "Conversation", zh: "对话" },
  description: {
    en: "Asks the user, ends a task, and looks after what the model still sees of the conversation.",
    zh: "向用户提问、结束任务，并管理模型可见的对话内容。",
  },
  tools: Object.values(conversationTools),
  enabled: "always",
});
