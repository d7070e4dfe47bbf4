import { z } from "zod";
import { backgroundText } from "../../agents/background.ts";
import { failure, success } from "../runtime/result.ts";
import { defineTool } from "../runtime/tool.ts";

/** Characters of all replies together, below the limit of a result. */
const shownLength = 4000;

/** Reports the state of background agents and the results of finished ones. */
export const readSubagentResults = defineTool({
  name: "read_subagent_results",
  description:
    "Lists the agents that run_named_subagents has sent to the background, and what came of those that have finished. It does " +
    "not wait: go on with other work, and look again later.",
  schema: z.object({
    session_ids: z
      .array(z.string().min(1))
      .min(1)
      .optional()
      .describe("only these agents, by the session_id that they were begun with; default all"),
  }),
  effect: "pure",
  offered: { mayDelegate: true },
  inTurn: { polling: true },
  run: async ({ session_ids }, { server: { background } }) => {
    if (background === undefined) return failure("unavailable_tool_mode", "No agents work in the background here.");
    const all = await background.list();
    const agents = all.filter(({ session_id }) => session_ids === undefined || session_ids.includes(session_id));
    if (agents.length === 0) {
      return success("There are no such agents in the background.", { data: [], message_zh: "没有这样的后台代理。" });
    }
    const share = Math.max(100, Math.floor(shownLength / agents.length) - 200);
    const finished = agents.filter(({ report }) => report !== null).length;
    const message = `${finished} of ${agents.length} background agents have finished.`;
    const content = [message, ...agents.map((agent) => backgroundText(agent, share))].join("\n\n");
    return success(message, {
      content,
      data: agents,
      message_zh: `${agents.length} 个后台代理中有 ${finished} 个已结束。`,
    });
  },
  example: { title: "One agent", body: '{"session_ids": ["0192d1c4-7d5e-7000-8000-000000000001"]}' },
});
