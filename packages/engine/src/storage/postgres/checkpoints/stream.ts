import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import type { RunEvent } from "../../../run-events.ts";
import { type RunWriter, attemptSuperseded } from "../../attempt-store.ts";
import { packEvents } from "../../events/event-batch.ts";
import { readRow } from "../../rows.ts";
import type { UsageEntry } from "../../usage.ts";
import type { PostgresDatabase, Values } from "../database/database.ts";
import { type Batch, writeFirstRows, writeRows } from "./batch.ts";
import type { Threads } from "./threads.ts";
import type { Place } from "./loader.ts";

/** Milliseconds between two retries during an outage: the first and the maximum. */
const [minPauseMs, maxPauseMs] = [50, 1_000];
/** Milliseconds after which a write gives up during an outage. */
const patience = 60_000;

const Written = z.object({ writes: z.number().nullable(), run: z.number().nullish() });
const Standing = z.object({
  attempt: z.number(),
  owner: z.number().nullable(),
  writes: z.number(),
  last_id: z.number(),
  has_session: z.boolean(),
});
type Standing = z.infer<typeof Standing>;

/** The fence of an attempt's end: the number of writes before it, and the rows that are written with it. */
export interface EndFence {
  writes: number | undefined;
  rows?: string | undefined;
}

/** Events and usage that are written together with something else. */
export interface PendingEvents {
  events: RunEvent[];
  usage: readonly UsageEntry[];
}

/**
 * The ordered writes of one attempt: its events and checkpoints. Each write increments a counter in the run's row, and is
 * fenced by the attempt and the counter. After a broken connection the counter shows whether the write was committed.
 */
export class AttemptStream {
  readonly #database: PostgresDatabase;
  readonly #threads: Threads;
  readonly #of: RunWriter;
  /** How many writes of the attempt there were; a claim begins at 0. */
  #writes = 0;
  /** The run's key, since its first write. */
  #run: number | undefined;
  /** See `AttemptStore.isLost`. */
  isLost = false;

  constructor(database: PostgresDatabase, threads: Threads, of: RunWriter) {
    this.#database = database;
    this.#threads = threads;
    this.#of = of;
  }

  /** Writes the events and the usage and, with them, what `more` writes. */
  async write(unstored: PendingEvents, more?: { place: Place; work: () => void }): Promise<void> {
    await this.#write(unstored, more, (batch) => this.#send(batch));
  }

  /**
   * Passes the last events and usage to `end`, which writes them with the end of the run. `end` returns "refused" when the
   * fence fails, and has written nothing then.
   */
  async end<Result>(unstored: PendingEvents, end: (fence: EndFence) => Promise<Result | "refused">): Promise<Result> {
    const tryOn = async (rows?: string): Promise<Result> => {
      for (;;) {
        const result = await end({ writes: this.#expected, rows });
        if (result !== "refused") return result;
        await this.#continueAttempt(unstored.events[0]?.id);
      }
    };
    if (unstored.events.length === 0 && unstored.usage.length === 0) return await tryOn();
    const ended = Promise.withResolvers<Result>();
    await this.#write(unstored, undefined, async (batch) => ended.resolve(await tryOn(batch.toRows())));
    return await ended.promise;
  }

  async #write(
    { events, usage }: PendingEvents,
    more: { place: Place; work: () => void } | undefined,
    send: (batch: Batch) => Promise<void>,
  ): Promise<void> {
    const { session_id, run_id, attempt } = this.#of;
    const isNewRun = attempt === 1 && this.#writes === 0;
    const place = { ...(more?.place ?? { threadId: session_id, name: "", run: run_id }), isNewRun };
    const work = (): void => {
      const { batch } = this.#threads.rows;
      const first = events[0];
      if (first !== undefined) {
        const data = this.#threads.codec.encode(session_id, packEvents(events));
        batch.events = { first: first.id, last: events.at(-1)?.id ?? first.id, data };
      }
      batch.usage = { run_id, entries: usage };
      more?.work();
    };
    checkOrder(run_id, events);
    let isSent = false;
    const sending = (batch: Batch): Promise<void> => {
      isSent = true;
      return send(batch);
    };
    await retryDuringOutage(
      () => this.#threads.write(place, work, sending),
      () => !isSent,
    );
  }

  /** How many writes PostgreSQL has confirmed. */
  get confirmed(): number {
    return this.#writes;
  }

  /** How many writes of the attempt there are before the next one; of no attempt, any number. */
  get #expected(): number | undefined {
    return this.#of.attempt === undefined ? undefined : this.#writes;
  }

  async #send(batch: Batch): Promise<void> {
    const rows = batch.toValues();
    const until = performance.now() + patience;
    let isUnknown = false;
    for (let pause = minPauseMs; ; pause = Math.min(2 * pause, maxPauseMs)) {
      try {
        if (await this.#sendOnce(rows)) return;
        // A try that got no answer may have been carried out since it was looked for.
        if (isUnknown && (await this.#hasHappened(batch, until))) return;
        await this.#continueAttempt(batch.events?.first);
        pause = minPauseMs;
      } catch (error) {
        const isAway = error instanceof AppError && error.code === "storage_unavailable";
        if (!isAway || performance.now() > until) throw error;
        isUnknown = true;
        await sleep(pause);
        if (await this.#hasHappened(batch, until)) return;
      }
    }
  }

  /** Sends the write; false where the fence has refused it. */
  async #sendOnce(rows: Values): Promise<boolean> {
    const { run_id, session_id, attempt, server } = this.#of;
    // Of no attempt, a write is for any that has the run.
    const statement = attempt === undefined || this.#run !== undefined ? writeRows : writeFirstRows;
    const fence = [run_id, session_id, attempt ?? null, this.#expected ?? null, server ?? null, this.#run ?? null];
    const [row] = await this.#database.rows(statement, [...fence, ...rows]);
    const { writes, run } = Written.parse(row);
    if (writes === null) return false;
    this.#writes = writes;
    this.#run ??= run ?? undefined;
    return true;
  }

  /** After a refusal: returns where the write has to be sent again, and throws what else is the reason. */
  async #continueAttempt(firstEvent = 0): Promise<void> {
    const { run_id, attempt } = this.#of;
    const standing = await this.#standing();
    // Another store of the same attempt has written: this one goes on from there.
    const hasMoved = standing.writes > this.#writes;
    if (hasMoved) this.#writes = standing.writes;
    if (hasMoved && attempt !== undefined) return;
    if (standing.writes < this.#writes) throw this.giveUp();
    const problem = `Expected an event id above ${standing.last_id} in run "${run_id}", got ${firstEvent}.`;
    throw new AppError("invalid_state", problem);
  }

  /** Whether a write whose connection broke is there. Waits for the database. */
  async #hasHappened(batch: Batch, until: number): Promise<boolean> {
    const { writes, last_id } = await retryDuringOutage(
      () => this.#standing(),
      () => performance.now() < until,
    );
    if (this.#of.attempt === undefined) return batch.events !== undefined && last_id >= batch.events.last;
    if (writes < this.#writes) throw this.giveUp();
    const hasHappened = writes > this.#writes;
    this.#writes = writes;
    return hasHappened;
  }

  /** The database came back without the newest commits: the attempt cannot go on from what it remembers. */
  giveUp(): AppError {
    this.isLost = true;
    // What memory knows of the thread is what is lost, and another server may write there from now on.
    this.#threads.clearWriter(this.#of.session_id, this.#of);
    return new AppError(
      "storage_unavailable",
      `PostgreSQL has lost what it had confirmed of run "${this.#of.run_id}".`,
      {
        suggestion: "The run goes on from its last stored checkpoint.",
        recoverable: true,
      },
    );
  }

  /** Where the run stands. Throws `conflict` where another attempt has it, `not_found` where it is gone. */
  async #standing(): Promise<Standing> {
    const { session_id, run_id, attempt, server } = this.#of;
    const sql = `SELECT runs.attempt, runs.owner, writes, session_id = $2 AS has_session,
        greatest(expired_events, coalesce((SELECT max(last_id) FROM run_events WHERE run = runs.id), -1)) AS last_id
      FROM runs JOIN sessions ON sessions.id = runs.session WHERE run_id = $1`;
    const [row] = await this.#database.rows(sql, [run_id, session_id]);
    const standing = readRow(Standing, "runs", row);
    if (standing?.has_session !== true) {
      throw new AppError("not_found", `Run "${run_id}" of session "${session_id}" not found.`);
    }
    const isOwn = server === undefined || standing.owner === server;
    if (attempt !== undefined && (standing.attempt !== attempt || !isOwn))
      throw attemptSuperseded(this.#of, standing.attempt);
    return standing;
  }
}

/** What `work` gives when the database is back, in the patience of an attempt and as long as it may be done `again`. */
export async function retryDuringOutage<Result>(
  work: () => Promise<Result>,
  again = (): boolean => true,
): Promise<Result> {
  const until = performance.now() + patience;
  for (let pause = minPauseMs; ; pause = Math.min(2 * pause, maxPauseMs)) {
    try {
      return await work();
    } catch (error) {
      const isAway = error instanceof AppError && error.code === "storage_unavailable";
      if (!isAway || !again() || performance.now() > until) throw error;
      await sleep(pause);
    }
  }
}

function checkOrder(runId: string, events: readonly RunEvent[]): void {
  for (const [at, { id }] of events.entries()) {
    const previous = events[at - 1]?.id ?? -1;
    if (id <= previous) {
      throw new AppError("invalid_state", `Expected an event id above ${previous} in run "${runId}", got ${id}.`);
    }
  }
}
