import { AsyncLocalStorage } from "node:async_hooks";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { readRow } from "../../rows.ts";
import { PostgresDatabase, type Statements, type Values } from "./database.ts";

/** The lease of a manual change on its session; see `SessionStore.withLease`. */
export interface SessionLease {
  session_id: string;
  /** The token in the session's row while the lease is valid. */
  token: string;
  /** The database that granted it. */
  by: PostgresDatabase;
  isOver: boolean;
}

/** The session lease of the current asynchronous context. */
export const currentSessionLease = new AsyncLocalStorage<SessionLease>();

const FenceRow = z.object({ is_own: z.boolean().nullable() });
/**
 * Locks the session, for which admissions, claims and other leases wait, and then checks the token. Not with `now()`, which is
 * when the transaction began: since then the lease may have expired, and a run may have started.
 */
const fence = `WITH locked AS MATERIALIZED (SELECT turn, turn_until FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE)
  SELECT turn = $2 AND turn_until >= clock_timestamp() AS is_own FROM locked`;

/** A database that fences the writes of a session lease: each transaction checks that the lease is still valid. */
export class FencedDatabase extends PostgresDatabase {
  override async rows(sql: string, values: Values = []): Promise<unknown[]> {
    if (this.#turn() === undefined) return await super.rows(sql, values);
    return await this.transaction((statements) => statements.rows(sql, values));
  }

  override async read(sql: string, values: Values = []): Promise<unknown[]> {
    return await currentSessionLease.exit(() => super.read(sql, values));
  }

  override async change(sql: string, values: Values = []): Promise<number> {
    if (this.#turn() === undefined) return await super.change(sql, values);
    return await this.transaction((statements) => statements.change(sql, values));
  }

  override async transaction<Result>(work: (statements: Statements) => Promise<Result>, waits = true): Promise<Result> {
    const turn = this.#turn();
    if (turn === undefined) return await super.transaction(work, waits);
    return await super.transaction(async (statements) => {
      const { session_id, token } = turn;
      const found = readRow(FenceRow, "sessions", (await statements.rows(fence, [session_id, token]))[0]);
      if (found?.is_own !== true) throw lostTurn();
      return await work(statements);
    }, waits);
  }

  /** The current lease. Work that outlives its lease writes without it. */
  #turn(): SessionLease | undefined {
    const turn = currentSessionLease.getStore();
    return turn === undefined || turn.isOver || turn.by !== this ? undefined : turn;
  }
}

function lostTurn(): AppError {
  return new AppError("conflict", "This server was silent for so long that others may have changed the thread since.", {
    suggestion: "Look at the thread, and send the change again if it is still wanted.",
    recoverable: true,
  });
}
