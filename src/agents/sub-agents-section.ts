import { builtInPrompts, type Prompts } from "../prompts/prompts.ts";
import { subAgents } from "../prompts/templates/sub-agents.ts";
import type { Agent } from "./agent-folders.ts";

/** The section of the system text that lists the agents for delegation; empty if there are none. */
export function subAgentsSection(agents: readonly Agent[], prompts: Prompts = builtInPrompts): string {
  if (agents.length === 0) return "";
  const sorted = agents.toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const examples = (["parallel", "serial"] as const).map((mode) => {
    const subagents = sorted.slice(0, 2).map(({ name }) => ({ name, task: `the task for ${name}` }));
    return `- ${mode}: run_named_subagents ${JSON.stringify({ mode, subagents })}`;
  });
  return prompts.text(subAgents, {
    agents: sorted.map((agent) => `- ${agent.name}: ${agent.description} (tools: ${toolsText(agent)})`).join("\n"),
    examples: examples.join("\n"),
  });
}

function toolsText({ tools }: Agent): string {
  if (tools === null) return "all";
  return tools.length === 0 ? "none" : tools.join(", ");
}
