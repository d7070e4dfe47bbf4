import { defineTemplate } from "../template.ts";

/** The section about sub-agents. */
export const subAgents = defineTemplate({
  name: "sub_agents",
  title: { en: "Sub-agents", zh: "子智能体" },
  description: "Which agents there are and how work is handed to them.",
  required: ["agents"],
  optional: ["examples"],
  content: [
    "Agents that you can hand a part of the work to:",
    "{agents}",
    "Give an agent everything it needs in one message: it does not see this conversation. Hand over only what can be done apart.",
    "Examples:",
    "{examples}",
  ].join("\n"),
});
