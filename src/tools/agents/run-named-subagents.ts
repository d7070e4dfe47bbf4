import { z } from "zod";
import { Assignment, CallMode, maxAgents, readDelegation } from "../../agents/delegation.ts";
import { failure, success, type ToolResult } from "../runtime/result.ts";
import { defineTool, type ToolContext } from "../runtime/tool.ts";

/** The list as text, for models that only send text arguments. */
const Text = z.string().superRefine((text, context) => {
  const read = readDelegation(text);
  if (read.kind === "invalid") context.addIssue({ code: "custom", message: read.problem });
});

/** Delegates parts of the work to agents, each with a loop of its own. */
export const runNamedSubagents = defineTool({
  name: "run_named_subagents",
  description:
    "Hands parts of the work to the agents that the system text lists; each works on its own, and their reports come back " +
    "together. Use it for parts that can be done apart. An agent sees nothing of this conversation: put everything it must " +
    "know into its task. serial means one after the other, in the order of the list. background answers at once: the agents go " +
    "on while you do other work, you are told when they have finished, and read_subagent_results shows how far they are and background_task " +
    "watches over them.",
  schema: z.object({
    mode: CallMode.optional().describe("parallel (default), serial or background"),
    subagents: z
      .union([z.array(Assignment).min(1).max(maxAgents), Text])
      .describe(`1 to ${maxAgents} agents, each with its task; or the same as text in YAML`),
    timeout_seconds: z
      .number()
      .positive()
      .max(3600)
      .optional()
      .describe("how long each agent may work, without the time a person takes to answer; 1800 by default"),
  }),
  // Repeating a background call finds the agents it already started.
  effect: "idempotent",
  // Agents have their own limits; this applies to starting them in the background.
  offered: { mayDelegate: true },
  // Each call of an agent is checked by itself.
  inTurn: {
    delegates: (input) => {
      const { mode, ...work } = workOf(input);
      return mode === "background" ? undefined : { mode, ...work };
    },
  },
  run: (input, context) => sendToBackground(workOf(input), context),
  example: {
    title: "Two at a time",
    body: '{"mode": "parallel", "subagents": [{"name": "reviewer", "task": "Review src/a.ts"}, {"name": "writer", "task": "Describe src/b.ts in b.md"}]}',
  },
});

interface Work {
  mode: CallMode;
  subagents: Assignment[];
  timeout_seconds: number;
}

function workOf(input: {
  mode?: CallMode | undefined;
  subagents: Assignment[] | string;
  timeout_seconds?: number | undefined;
}): Work {
  const { mode, subagents, timeout_seconds = 1800 } = input;
  const read = typeof subagents === "string" ? readDelegation(subagents) : { mode: undefined, subagents };
  const assignments = "subagents" in read ? read.subagents : [];
  const written = "mode" in read ? read.mode : undefined;
  return { mode: mode ?? written ?? "parallel", subagents: assignments, timeout_seconds };
}

async function sendToBackground(work: Work, { server: { background } }: ToolContext): Promise<ToolResult> {
  if (work.mode !== "background") {
    return failure(
      "unavailable_tool_mode",
      "run_named_subagents needs a turn of the conversation to work in.",
      "Send a message that asks for the work.",
    );
  }
  if (background === undefined) {
    return failure("unavailable_tool_mode", "The background is not available here.", "Use parallel or serial.");
  }
  const sent = await background.send(work.subagents, work.timeout_seconds);
  const startedCount = sent.filter(({ kind }) => kind === "begun").length;
  const lines = sent.map((agent) =>
    agent.kind === "begun"
      ? `- ${agent.name} has begun: session_id ${agent.session_id}`
      : `- ${agent.name} could not begin: ${agent.problem}`,
  );
  const message = `${startedCount} of ${sent.length} agents work in the background now.`;
  const more = {
    content: [message, ...lines].join("\n"),
    data: { agents: sent },
    message_zh: `${sent.length} 个代理中有 ${startedCount} 个已在后台开始工作。`,
  };
  return startedCount > 0 ? success(message, more) : { ...failure("execution_failed", message), ...more };
}
