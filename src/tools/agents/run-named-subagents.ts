import { z } from "zod";
import { Assignment, DelegationMode, mostAgents, readDelegation } from "../../agents/delegation.ts";
import { failure } from "../result.ts";
import { defineTool } from "../tool.ts";

/** A text that holds the list, as models write it that have only text for arguments. */
const Text = z.string().superRefine((text, context) => {
  const read = readDelegation(text);
  if (read.kind === "invalid") context.addIssue({ code: "custom", message: read.problem });
});

/** Hands parts of the work to agents, each of which works in a loop of its own (AGENT-04). */
export const runNamedSubagents = defineTool({
  name: "run_named_subagents",
  description:
    "Hands parts of the work to the agents that the system text lists; each works on its own, and their reports come back " +
    "together. Use it for parts that can be done apart. An agent sees nothing of this conversation: put everything it must " +
    "know into its task. serial means one after the other, in the order of the list.",
  schema: z.object({
    mode: DelegationMode.optional().describe("parallel (default) or serial"),
    subagents: z
      .union([z.array(Assignment).min(1).max(mostAgents), Text])
      .describe(`1 to ${mostAgents} agents, each with its task; or the same as text in YAML`),
    timeout_seconds: z
      .number()
      .positive()
      .max(3600)
      .optional()
      .describe("how long each agent may work, without the time a person takes to answer; 1800 by default"),
  }),
  effect: "unsafe",
  // What the agents do has limits of its own; this is only for a call by hand, which does nothing.
  timeoutSeconds: 60,
  resources: () => [],
  // Each call that an agent makes is checked for itself.
  kinds: ["Query"],
  operation: async () => ({ type: "Query" }),
  delegates: ({ mode, subagents, timeout_seconds = 1800 }) => {
    const read = typeof subagents === "string" ? readDelegation(subagents) : { mode: undefined, subagents };
    const assignments = "subagents" in read ? read.subagents : [];
    const written = "mode" in read ? read.mode : undefined;
    return { mode: mode ?? written ?? "parallel", subagents: assignments, timeout_seconds };
  },
  run: async () =>
    failure(
      "unavailable_tool_mode",
      "run_named_subagents needs a turn of the conversation to work in.",
      "Send a message that asks for the work.",
    ),
  example: {
    title: "Two at a time",
    body: '{"mode": "parallel", "subagents": [{"name": "reviewer", "task": "Review src/a.ts"}, {"name": "writer", "task": "Describe src/b.ts in b.md"}]}',
  },
});
