import { AsyncLocalStorage } from "node:async_hooks";
import { z } from "zod";
import { AppError } from "../../../errors/errors.ts";
import { readRow } from "../../rows.ts";
import { PostgresDatabase, type Statements, type Values } from "./database.ts";

/** A change of a session by hand; see `SessionStore.inTurn`. */
export interface Turn {
  session_id: string;
  /** What its session's row says as long as it lasts. */
  token: string;
  /** By which database it was taken. */
  by: PostgresDatabase;
  isOver: boolean;
}

/** The turn that is under way in this flow of calls. */
export const turnUnderWay = new AsyncLocalStorage<Turn>();

const FenceRow = z.object({ is_own: z.boolean().nullable() });
/** Holds the session, for which admissions, claims and other turns wait. */
const fence = `SELECT turn = $2 AND turn_until >= now() AS is_own FROM sessions WHERE session_id = $1 FOR NO KEY UPDATE`;

/** A database to which a turn writes only as long as it lasts: each of its writes asks for that in its own transaction. */
export class TurnDatabase extends PostgresDatabase {
  override async rows(sql: string, values: Values = []): Promise<unknown[]> {
    if (this.#turn() === undefined) return await super.rows(sql, values);
    return await this.transaction((statements) => statements.rows(sql, values));
  }

  override async read(sql: string, values: Values = []): Promise<unknown[]> {
    return await turnUnderWay.exit(() => super.read(sql, values));
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

  /** The turn that is under way. What is begun in one and goes on after it writes as anything else. */
  #turn(): Turn | undefined {
    const turn = turnUnderWay.getStore();
    return turn === undefined || turn.isOver || turn.by !== this ? undefined : turn;
  }
}

function lostTurn(): AppError {
  return new AppError("conflict", "This server was silent for so long that others may have changed the thread since.", {
    suggestion: "Look at the thread, and send the change again if it is still wanted.",
    recoverable: true,
  });
}
