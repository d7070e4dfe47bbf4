import { subAgents } from "../prompts/templates/sub-agents.ts";
import { agentTools } from "../tools/index.ts";
import { defineToolkit } from "./toolkit.ts";

/** Handing work to agents. */
export const agents = defineToolkit({
  name: "agents",
  title: { en: "Agents", zh: "智能体" },
  description: {
    en: "Hands parts of the work to agents with prompts of their own.",
    zh: "把部分工作交给拥有各自提示词的智能体。",
  },
  tools: Object.values(agentTools),
  templates: [subAgents],
  enabled: "default",
});
