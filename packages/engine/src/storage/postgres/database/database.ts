import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { withTimeout } from "../../../concurrency/abort.ts";
import { AppError } from "../../../errors/errors.ts";
import { isCollision, toStorageError } from "./errors.ts";

/** Connections at once. */
const connections = 8;
/** Milliseconds that a connection, and a statement, may take. */
const [connectPatience, queryPatience] = [3_000, 10_000];
/** How often a statement is tried again that collided with another transaction. */
const collisionTries = 5;

/** The values of a statement's `$1`, `$2`, … */
export type Values = readonly (Value | readonly Value[])[];
type Value = string | number | boolean | null | Uint8Array;

/** An expression for `RETURNING`: the commit of a statement that changes a row does not wait for the disk. */
export const later = "set_config('synchronous_commit', 'off', true)";

/** `bigint` are keys and counts, which numbers hold. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 && format !== "binary" ? Number : pg.types.getTypeParser(type, format),
};

/** Runs statements; each is a transaction of its own, or a part of the one that `transaction` has opened. */
export interface Statements {
  /** The rows of a statement as they came; see `readRows`. */
  rows(sql: string, values?: Values): Promise<unknown[]>;
  /** How many rows a statement has changed. */
  change(sql: string, values?: Values): Promise<number>;
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
 * A pool of connections to one database. Nothing of it lasts in a connection, so a pooler may stand in between. A
 * statement that takes too long costs its connection: a client that has lost its server would hold up the next one too.
 */
export class PostgresDatabase implements Statements {
  /** `host:port/name`, for messages. */
  readonly place: string;
  readonly #pool: pg.Pool;
  readonly #patience: number;

  /** `patience`: milliseconds that a statement may take. Connects when the first one comes. */
  constructor(url: string, patience = queryPatience) {
    this.place = placeOf(url);
    this.#patience = patience;
    this.#pool = new pg.Pool({
      connectionString: url,
      max: connections,
      connectionTimeoutMillis: connectPatience,
      keepAlive: true,
      types,
      application_name: "millrace",
    });
    // An idle connection that breaks is replaced by the next statement.
    this.#pool.on("error", () => undefined);
  }

  async rows(sql: string, values: Values = []): Promise<unknown[]> {
    return await this.#connected(async (client) => (await this.#run(client, sql, values)).rows);
  }

  async change(sql: string, values: Values = []): Promise<number> {
    return await this.#connected(async (client) => (await this.#run(client, sql, values)).rowCount ?? 0);
  }

  /** All statements of `work` or none. It may be called again, where it collides with another transaction. */
  async transaction<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result> {
    return await this.#connected(async (client) => {
      const statements: Statements = {
        rows: async (sql, values = []) => (await this.#run(client, sql, values)).rows,
        change: async (sql, values = []) => (await this.#run(client, sql, values)).rowCount ?? 0,
      };
      await statements.change("BEGIN");
      try {
        const result = await work(statements);
        await statements.change("COMMIT");
        return result;
      } catch (error) {
        await statements.change("ROLLBACK").catch(() => undefined);
        throw error;
      }
    });
  }

  /** Resolves when every connection is closed. */
  async close(): Promise<void> {
    await this.#pool.end();
  }

  async #connected<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    for (let tries = 0; ; tries += 1) {
      let client: pg.PoolClient | undefined;
      let isBroken = false;
      try {
        client = await this.#pool.connect();
        return await work(client);
      } catch (error) {
        if (isCollision(error) && tries < collisionTries) {
          await sleep(Math.random() * 20 * 2 ** tries, undefined, { ref: false });
          continue;
        }
        const told = toStorageError(error, this.place);
        isBroken = told.code === "storage_unavailable";
        throw told;
      } finally {
        client?.release(isBroken);
      }
    }
  }

  async #run(client: pg.PoolClient, sql: string, values: Values): Promise<pg.QueryResult<unknown[]>> {
    const late = (): never => {
      throw new AppError("storage_unavailable", `PostgreSQL at ${this.place} has not answered in time.`, {
        suggestion: "Check the network to the address in MILLRACE_DATABASE, and what PostgreSQL is busy with.",
        recoverable: true,
      });
    };
    return await withTimeout(client.query(sql, [...values]), this.#patience, late);
  }
}
