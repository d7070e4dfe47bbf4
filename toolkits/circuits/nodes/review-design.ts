import { randomUUID } from "node:crypto";
import { AIMessage } from "@langchain/core/messages";
import { z } from "zod";
import { readIfThere } from "../../../src/context/workspace/workspace-text.ts";
import { isAppError } from "@millrace/engine/errors/errors";
import { languageOfWords } from "@millrace/engine/language";
import { servicesOf } from "../../../src/loop/services.ts";
import type { GraphState, WorkflowNode } from "../../../src/state.ts";
import { circuitState } from "../state.ts";
import { figureText, goalText } from "../tools/figure-text.ts";
import { iterationsIn, operationsOf } from "./design-review.ts";
import { designSuggestions, statusSummary, type GoalSummary } from "./design-words.ts";
import { lastUserText } from "../../../src/nodes/turn/request-words.ts";

/** The fields of a simulation result that are read back; `run_simulation` writes it. */
const Result = z.looseObject({
  metrics: z.record(z.string(), z.number()).nullable().catch(null),
  units: z.record(z.string(), z.string()).catch({}),
  goals: z
    .array(
      z.looseObject({
        metric: z.string(),
        target: z.union([z.number(), z.string()]),
        way: z.enum(["at_least", "at_most", "near"]),
        unit: z.string(),
        figure_unit: z.string().catch(""),
        state: z.discriminatedUnion("kind", [
          z.object({ kind: z.literal("unknown") }),
          z.object({ kind: z.enum(["reached", "missed"]), value: z.number(), gap: z.number() }),
        ]),
      }),
    )
    .catch([]),
});
type Result = z.infer<typeof Result>;

/** Maximum figures in a summary. */
const maxFigures = 8;

/** Reports a design iteration with suggestions for the next step. The next node waits for the choice. */
export const reviewDesign: WorkflowNode = async (state, config) => {
  const isChinese = languageOfWords(lastUserText(state.messages)) === "zh";
  const signal = config.signal ?? new AbortController().signal;
  const { units, goals } = await resultOf(state, servicesOf(config).workspace, signal);
  const summary: GoalSummary = {
    lines: goals.map((goal) => goalText(goal, goal.state, goal.figure_unit, isChinese)),
    areReached: goals.length > 0 && goals.every((goal) => goal.state.kind === "reached"),
  };
  const { error_context: error } = state;
  const { last_metrics: metrics } = circuitState(state);
  const figures = Object.entries(metrics ?? {})
    .slice(0, maxFigures)
    .map(([name, value]) => figureText({ name, value, unit: units[name] ?? "" }))
    .join(", ");
  const iteration = iterationsIn(state.messages) + 1;
  const status_summary = statusSummary({ iteration, error, figures, goals: summary }, isChinese);
  const operations = operationsOf(state.messages);
  const can = { hasFailed: error !== null, areReached: summary.areReached, canUndo: operations.length > 0 };
  const message = new AIMessage({
    id: randomUUID(),
    content: status_summary,
    additional_kwargs: {
      timestamp: new Date().toISOString(),
      status_summary,
      suggestions: designSuggestions(can, isChinese),
      design_checkpoint: { operations, metrics },
    },
  });
  return { messages: [message] };
};

/** The session's simulation result; empty if its file is missing or invalid. */
export async function resultOf(state: GraphState, workspace: string, signal: AbortSignal): Promise<Result> {
  const none = Result.parse({ metrics: null });
  const { sim_result_path: path } = circuitState(state);
  if (path === null || state.error_context !== null) return none;
  try {
    const file = await readIfThere(workspace, path, signal);
    return Result.safeParse(JSON.parse(file?.text ?? "{}")).data ?? none;
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error) || error instanceof SyntaxError) return none;
    throw error;
  }
}
