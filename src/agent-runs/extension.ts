import type { GraphExtension } from "@millrace/engine/graphs/served-graph";
import type { RunExtension } from "@millrace/engine/runs/options";
import { AgentRun, type AgentParts } from "./agent-run.ts";
import { keepTurn, nodesWithLoop } from "./keep-turn.ts";
import { shownState, withAskedCalls } from "./open-calls.ts";

/** What our agent knows of the graphs that call its loop. */
export const agentGraphs: GraphExtension = { loopNodes: nodesWithLoop, shownState, shownValues: withAskedCalls };

/** What our agent adds to the runs of a server. */
export function agentRuns(parts: AgentParts): RunExtension {
  return {
    // LangGraph's own 25 ends a turn too early.
    recursionLimit: 500,
    accompany: (active, runs) => new AgentRun(active, parts, runs),
    keepFormer: async (turn) => {
      await keepTurn({ ...turn, services: parts.services(turn.run.session_id) });
    },
    forget: (sessionId) => parts.forget?.(sessionId),
  };
}
