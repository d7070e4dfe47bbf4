import type { RunEvent } from "../../../run-events.ts";
import type { Run } from "../../../storage/records.ts";
import type { HttpContext, HttpServices } from "../../environment.ts";
import { frameLength } from "../../answers/frames.ts";
import { languageOf } from "../../answers/language.ts";
import { questionText } from "../../requests/question-text.ts";
import { cancelAfterDisconnect } from "../../requests/runs.ts";
import { readQuestion } from "../../../sessions/questions/questions.ts";
import { sendEvents } from "../../answers/sse.ts";
import { TurnReader, type TurnItem, type TurnResult } from "./turn-reader.ts";

/** One piece of a turn, or its end. `question` is what waits, in words, which come after those of the assistant. */
export type TurnEvent = { item: TurnItem } | { end: TurnResult; run: Run; question: string };

/** The events of a stream, and those that only say how far its reader is behind. */
type StreamedEvent = TurnEvent | { behind: RunEvent };

/** Follows a run as a turn, from its beginning to its end. Throws `server` where the server stops before. */
export async function* followTurn(
  { runs }: HttpServices,
  context: HttpContext,
  run: Run,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent[]> {
  const reader = new TurnReader(run);
  for await (const batch of runs.followBatches(run, -1, signal)) {
    yield batch.flatMap((event) => reader.read(event).map((item) => ({ item })));
  }
  const end = reader.result();
  const language = languageOf(context);
  const questions = end.questions.map(
    ({ value }) => questionText(readQuestion(value), language) ?? JSON.stringify(value),
  );
  // Where its row has gone with a temporary thread, what its events said is what there is.
  const over = (await runs.get(run.run_id)) ?? { ...run, status: end.error === undefined ? "success" : "error" };
  yield [{ end, run: over, question: questions.join("\n\n") }];
}

/** How a client follows a turn. */
export interface Following {
  /** Pieces as server-sent events. */
  frame: (event: TurnEvent) => string;
  /** Called before the end is told. */
  onEnd?: () => Promise<void>;
  /** Told of everything before it is written. */
  onItems?: (events: readonly TurnEvent[]) => void;
  cancels: boolean;
}

/** Streams a turn. */
export function streamTurn(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  { frame, onItems, onEnd, cancels }: Following,
): Response {
  return sendEvents<StreamedEvent>(context, {
    // A model may think for long before its first word.
    mayBeQuiet: true,
    open: async function* (signal) {
      for await (const batch of followTurn(services, context, run, signal)) {
        onItems?.(batch);
        if (batch.some((event) => "end" in event)) await onEnd?.();
        yield batch;
      }
    },
    tail: async function* (signal) {
      for await (const batch of services.runs.tail(run, signal)) yield batch.map((behind) => ({ behind }));
    },
    measure: (event) => ("behind" in event ? frameLength(event.behind, {}) : 0),
    frame: (event) => ("behind" in event ? "" : frame(event)),
    headers: { "x-thread-id": run.session_id },
    logger: services.logger,
    ...(cancels && { onDisconnect: () => cancelAfterDisconnect(services, run) }),
  });
}

/** Waits for a turn; `undefined` when the client has gone before. */
export async function wholeTurn(
  services: HttpServices,
  context: HttpContext,
  run: Run,
  cancels: boolean,
): Promise<TurnEvent[] | undefined> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    gone.abort();
    if (cancels) cancelAfterDisconnect(services, run);
  };
  outgoing.once("close", onClose);
  // It went while the run was being begun: nobody will say so any more.
  if (outgoing.destroyed) onClose();
  const events: TurnEvent[] = [];
  try {
    for await (const batch of followTurn(services, context, run, gone.signal)) events.push(...batch);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    outgoing.off("close", onClose);
  }
  return gone.signal.aborted ? undefined : events;
}

/** Whether a run ends when its client goes: as with OpenAI, unless the client may come back or has said otherwise. */
export function cancelsOnLeave(context: HttpContext): boolean {
  return context.req.header("x-on-disconnect") !== "continue" && context.req.header("idempotency-key") === undefined;
}
