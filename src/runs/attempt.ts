import type { Run } from "@millrace/engine/storage/records";
import { ownerOfItems } from "@millrace/engine/config/api-keys";
import { GraphStore } from "@millrace/engine/storage/items/graph-store";
import type { Storage } from "@millrace/engine/storage/storage";
import type { ActiveRun } from "./active-run.ts";
import { walk, type WalkResult } from "./execute.ts";
import { toRunError } from "./run-error.ts";
import { startFeedback } from "./feedback.ts";
import { createFence } from "./fence.ts";
import { keepFormer } from "./keep-former.ts";
import { requireOrigin } from "./origin.ts";
import type { Performance } from "./performance.ts";
import { crashLoop, hasProgress } from "./recover.ts";
import { refusedAnswer } from "./refused-answer.ts";
import { readToldMessages } from "./told-messages.ts";

/** One walk of a run, from its input or from its checkpoint; whatever fails on the way is its ending. Never throws. */
export async function attempt(active: ActiveRun, performance: Performance): Promise<WalkResult> {
  const { storage, graphs, extension } = performance;
  const { run, told, log, stop, companion } = active;
  const looping = crashLoop(run, performance.crashBudget);
  if (looping !== undefined) return { ending: { kind: "failed", error: looping }, paused: false, values: undefined };
  active.fence = createFence(storage.checkpointerWith(log));
  const resumes = run.attempt > 1 || run.kwargs.command?.["resume"] !== undefined;
  companion?.begins(resumes);
  try {
    await log.room();
    log.emit({ event: "metadata", data: { run_id: run.run_id, attempt: run.attempt } });
    const resume = run.attempt > 1 && (await hasProgress(storage.checkpointer, run));
    if (!resume) {
      // Once more: the run before may have been rolled back, and its checkpoints with it.
      await requireOrigin(run, storage.checkpointer);
      await keepFormer(run, active.fence.saver, performance);
    }
    const graph = await graphs.forRun(told);
    const refusal = resume ? undefined : await refusedAnswer(run, graph);
    if (refusal !== undefined) return { ending: { kind: "failed", error: refusal }, paused: false, values: undefined };
    const feedback = startFeedback(run, performance);
    companion?.walks(graph, resumes);
    const { saver } = active.fence;
    const result = await walk({
      run: told,
      graph,
      hasLoop: graphs.hasLoop(graph),
      recursionLimit: extension?.recursionLimit,
      lend: companion && ((signal) => companion.lend(signal)),
      replace: companion?.replaces(graph, saver, resume),
      logger: performance.logger,
      resume,
      toldMessages: resume ? await readToldMessages(storage.events, run.run_id, stop.signal) : undefined,
      signal: stop.signal,
      saver,
      store: storeOf(run, storage),
      control: stop.control,
      tracer: tracerOf(run, performance),
      project: performance.project,
      tell: (event) => {
        if (!active.ended) log.emit(companion?.asTold(event) ?? event);
      },
      told: (mode, payload) => {
        if (!active.ended) companion?.heard(mode, payload);
      },
      room: () => log.room(),
    });
    const urls = await feedback;
    if (urls !== undefined && !active.ended) log.emit({ event: "feedback", namespace: [], data: urls });
    return result;
  } catch (error) {
    return { ending: { kind: "failed", error: toRunError(error) }, paused: false, values: undefined };
  }
}

/** The store with the items of the session's owner, who is looked up when a graph uses it. */
function storeOf({ session_id }: Run, { items, sessions }: Pick<Storage, "items" | "sessions">): GraphStore {
  return new GraphStore(items, async () => ownerOfItems((await sessions.get(session_id))?.owner ?? null));
}

function tracerOf({ kwargs }: Run, { tracer, tracerFor }: Performance): Performance["tracer"] {
  const { langsmith_tracer: place } = kwargs;
  return place === undefined ? tracer : (tracerFor?.(place) ?? tracer);
}
