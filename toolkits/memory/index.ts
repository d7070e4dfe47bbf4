import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { isWanted } from "./is-wanted.ts";
import { isAvailable, memoryContext, memoryFields, openMemory, sessionMemories } from "./memories/session-memories.ts";
import { knownMemories } from "./prompts/known-memories.ts";
import { memoryRoutes } from "./routes/memory.ts";
import { manageMemory } from "./tools/manage-memory.ts";

/** Memories about users across sessions. */
export const memory = defineToolkit({
  name: "memory",
  title: { en: "Memory", zh: "记忆" },
  description: {
    en: "Keeps facts and preferences of the user from one conversation to the next.",
    zh: "在不同对话之间记住用户的事实与偏好。",
  },
  enabled: "default",
  tools: [manageMemory],
  isWanted,
  isAvailable,
  templates: [knownMemories],
  workflow: { state: memoryFields, context: memoryContext, sessionText: sessionMemories },
  open: openMemory,
  routes: [memoryRoutes],
});
