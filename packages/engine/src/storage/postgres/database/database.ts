import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { z } from "zod";
import { withTimeout } from "../../../concurrency/abort.ts";
import { AppError } from "../../../errors/errors.ts";
import { countDuration, type Durations, noDurations } from "../../../metrics/families.ts";
import type { Change, ChangeListener } from "../../changes.ts";
import { withinRun } from "../../attempt-store.ts";
import { Connections } from "./connections.ts";
import { isCollision, toStorageError } from "./errors.ts";
import { begin, PreparedStatements } from "./prepared.ts";

/** Connections at once, where nothing else is said. */
const defaultConnections = 8;
/** Milliseconds that a statement may take. */
const queryPatience = 10_000;
/** How often a statement is tried again that collided with another transaction. */
const collisionTries = 5;
/** Milliseconds that `once` goes on: where PostgreSQL does not answer at all, and where it may have written. */
const [outagePatience, unknownPatience] = [2_000, 20_000];

/** Milliseconds that what a run asks or writes waits for a database that is away. */
const runPatience = 60_000;

/** Whether a run asks that goes on. */
function isAskedByRun(): boolean {
  return withinRun.getStore()?.aborted === false;
}

/** The values of a statement's `$1`, `$2`, … */
export type Values = readonly (Value | readonly Value[])[];
type Value = string | number | boolean | null | Uint8Array;

/** An expression for `RETURNING`: the commit of a statement that changes a row does not wait for the disk. */
export const asyncCommit = "set_config('synchronous_commit', 'off', true)";

/** Runs statements; each is a transaction of its own, or a part of the one that `transaction` has opened. */
export interface Statements {
  /** The rows of a statement as they came; see `readRows`. */
  rows(sql: string, values?: Values): Promise<unknown[]>;
  /**
   * `rows` of a statement that changes nothing. Outside of a transaction it is sent again where its connection has broken:
   * a run waits for the answer for a minute, everybody else for two seconds.
   */
  read(sql: string, values?: Values): Promise<unknown[]>;
  /** How many rows a statement has changed. */
  change(sql: string, values?: Values): Promise<number>;
  /** Passes what earlier statements have changed to the listener of `watch`; in a transaction, once it is committed. */
  recordChanges(...changes: Change[]): void;
}

const Address = z.object({ protocol: z.enum(["postgres:", "postgresql:"]), pathname: z.string().min(2) });

/** The database of an address as `host:port/name`, without user and password. Throws `config` for another address. */
export function placeOf(url: string): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  const { success } = Address.safeParse({ protocol: parsed?.protocol, pathname: parsed?.pathname });
  if (parsed === undefined || !success) {
    throw new AppError("config", "MILLRACE_DATABASE is not the address of a PostgreSQL database.", {
      suggestion: "Write it as postgres://user:password@host:5432/name.",
    });
  }
  const host = parsed.searchParams.get("host") ?? parsed.host;
  return `${host}${parsed.pathname}`;
}

/**
 * A pool of connections to one database. Behind a pooler nothing of it lasts in a connection; see `PreparedStatements`. A
 * statement that takes too long costs its connection: a client that has lost its server would hold up the next one too.
 */
export class PostgresDatabase implements Statements {
  /** `host:port/name`, for messages. */
  readonly place: string;
  /** How long the statements took. */
  readonly times: Durations = noDurations([0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2]);
  readonly #connections: Connections;
  readonly #patience: number;
  readonly #prepared = new PreparedStatements();
  /** Work that is not over. */
  readonly #under = new Set<Promise<unknown>>();
  /** The last work of each key. */
  readonly #last = new Map<string, Promise<unknown>>();
  /** Failures of statements that may have been carried out nevertheless. */
  readonly #unknown = new WeakSet<AppError>();
  #listener: ChangeListener | undefined;
  #closing: Promise<void> | undefined;
  #refusal: AppError | undefined;
  #lost: () => void = () => undefined;

  /** `patience`: milliseconds that a statement may take; `connections`: how many at once. Connects when the first one comes. */
  constructor(url: string, { patience = queryPatience, connections = defaultConnections } = {}) {
    this.place = placeOf(url);
    this.#patience = patience;
    this.#connections = new Connections(url, connections, () => this.#lost());
  }

  async rows(sql: string, values: Values = []): Promise<unknown[]> {
    return await this.#connected(async (client) => (await this.#run(client, sql, values)).rows);
  }

  async read(sql: string, values: Values = []): Promise<unknown[]> {
    return await this.#untilThere(
      () => this.rows(sql, values),
      () => (isAskedByRun() ? runPatience : outagePatience),
    );
  }

  async change(sql: string, values: Values = []): Promise<number> {
    return await this.#connected(async (client) => (await this.#run(client, sql, values)).rowCount ?? 0);
  }

  /** Calls back whenever a connection has broken. The server may have ended, and lost commits that did not wait for its disk. */
  onLost(forget: () => void): void {
    this.#lost = forget;
  }

  /** Refuses every statement from now on. */
  refuse(reason: AppError): void {
    this.#refusal = reason;
  }

  recordChanges(...changes: Change[]): void {
    if (changes.length > 0) this.#listener?.(changes);
  }

  /** Calls the listener after each commit from now on, with what was changed. There is one listener. */
  watch(listener: ChangeListener): void {
    this.#listener = listener;
  }

  /**
   * All statements of `work` or none. It may be called again, where it collides with another transaction. `waits`: whether
   * the commit waits for the disk.
   */
  async transaction<Result>(work: (statements: Statements) => Promise<Result>, waits = true): Promise<Result> {
    return await this.#connected(async (client) => {
      const recorded: Change[] = [];
      const rows: Statements["rows"] = async (sql, values = []) => (await this.#run(client, sql, values)).rows;
      const statements: Statements = {
        rows,
        read: rows,
        change: async (sql, values = []) => (await this.#run(client, sql, values)).rowCount ?? 0,
        recordChanges: (...changes) => void recorded.push(...changes),
      };
      await statements.change(waits ? begin : `${begin}, ${asyncCommit}`);
      try {
        const result = await work(statements);
        await statements.change("COMMIT");
        this.recordChanges(...recorded);
        return result;
      } catch (error) {
        // A connection that is lost is closed, which takes the transaction back; it would not answer.
        const isLost = toStorageError(error, this.place).code === "storage_unavailable";
        if (!isLost) await statements.change("ROLLBACK").catch(() => undefined);
        throw error;
      }
    });
  }

  /** Runs work of the same key one after the other, first come, first served. It must not use the same key. */
  inOrder<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#last.get(key);
    const result = this.#tracked(before === undefined ? work() : before.then(work));
    const over = result
      .catch(() => undefined)
      .finally(() => {
        if (this.#last.get(key) === over) this.#last.delete(key);
      });
    this.#last.set(key, over);
    return result;
  }

  /**
   * Writes once, also where a connection breaks before the answer is there. `work` is called again then, with `again`: it
   * looks first whether it has been done already.
   * `isOfRun`: a run writes, which can wait for longer than a request, unless its attempt `isOver`.
   */
  async once<Result>(
    work: (again: boolean) => Promise<Result>,
    isOfRun = false,
    isOver: () => boolean = () => false,
  ): Promise<Result> {
    const maxWaitMs = (again: boolean): number =>
      isOfRun || isAskedByRun() ? runPatience : again ? unknownPatience : outagePatience;
    return await this.#untilThere(work, maxWaitMs, isOver);
  }

  /** Does work until PostgreSQL answers, for `maxWaitMs` milliseconds; `again`: it may have been done already. */
  async #untilThere<Result>(
    work: (again: boolean) => Promise<Result>,
    maxWaitMs: (again: boolean) => number,
    isOver: () => boolean = () => false,
  ): Promise<Result> {
    const begun = performance.now();
    let again = false;
    for (let pause = 50; ; pause = Math.min(pause * 2, 1_000)) {
      try {
        return await work(again);
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "storage_unavailable" || isOver()) throw error;
        again ||= this.#unknown.has(error);
        if (performance.now() - begun + pause > maxWaitMs(again)) throw error;
        await sleep(pause * (0.5 + Math.random() / 2));
      }
    }
  }

  /** Resolves when all that was begun is over and every connection is closed. A second call does nothing more. */
  close(): Promise<void> {
    this.#closing ??= this.#settled().then(() => this.#connections.end());
    return this.#closing;
  }

  async #settled(): Promise<void> {
    while (this.#under.size > 0) await Promise.allSettled(this.#under);
  }

  /** Returns the same work; `close` waits for it. */
  #tracked<Result>(work: Promise<Result>): Promise<Result> {
    this.#under.add(work);
    const end = (): void => void this.#under.delete(work);
    work.then(end, end);
    return work;
  }

  #connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    return this.#tracked(this.#tried(work));
  }

  async #tried<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const begun = performance.now();
    for (let tries = 0; ; tries += 1) {
      if (this.#refusal !== undefined) throw this.#refusal;
      let client: pg.PoolClient | undefined;
      let isBroken = false;
      try {
        client = await this.#connections.connect();
        return await work(client);
      } catch (error) {
        if (isCollision(error) && tries < collisionTries) {
          await sleep(Math.random() * 20 * 2 ** tries);
          continue;
        }
        const storageError = toStorageError(error, this.place);
        // Nothing was sent: it is tried again until PostgreSQL has had the time to start anew.
        const maxWaitMs = isAskedByRun() ? runPatience : outagePatience;
        const waits = performance.now() - begun < maxWaitMs && client === undefined && this.#closing === undefined;
        if (waits && storageError.code === "storage_unavailable") {
          await sleep(50 * (0.5 + Math.random()));
          continue;
        }
        isBroken = storageError.code === "storage_unavailable";
        if (isBroken && client !== undefined) {
          this.#unknown.add(storageError);
          this.#lost();
        }
        throw storageError;
      } finally {
        client?.release(isBroken);
      }
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: Values): Promise<pg.QueryResult<unknown[]>> {
    // The driver would write something else in place of such a half, and two names could become one.
    if (values.some((value) => typeof value === "string" && !value.isWellFormed())) {
      throw new AppError("invalid_parameter", "An identifier or a name holds one half of a surrogate pair.", {
        suggestion: "Leave it out of identifiers and names.",
      });
    }
    const late = (): never => {
      throw new AppError("storage_unavailable", `PostgreSQL at ${this.place} has not answered in time.`, {
        suggestion: "Check the network to the address in MILLRACE_DATABASE, and what PostgreSQL is busy with.",
        recoverable: true,
      });
    };
    const begun = performance.now();
    try {
      return await withTimeout(this.#prepared.send(client, sql, values), this.#patience, late);
    } finally {
      countDuration(this.times, (performance.now() - begun) / 1_000);
    }
  }
}
