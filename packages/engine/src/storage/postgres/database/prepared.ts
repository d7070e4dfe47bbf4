import type pg from "pg";
import { z } from "zod";
import { isStalePlan } from "./errors.ts";

/** How often a statement is sent before it gets a name, and how many get one: PostgreSQL keeps the plan of each per connection. */
const [usesBefore, maxNames] = [5, 100];
/** Texts of statements whose uses are counted. */
const maxCounted = 1_000;

/**
 * Begins a transaction, which PostgreSQL takes back where nothing is heard of it for so long: what a server has locked that stands
 * still, or is cut off, is free before its lease is over.
 */
export const begin = "BEGIN; SELECT set_config('idle_in_transaction_session_timeout', '4s', true)";

/** The number that PostgreSQL, or a pooler in its place, gave the connection. */
const Connected = z.object({ processID: z.number() });
const Answer = z.tuple([z.object({ pid: z.number() })]);

/**
 * Names of statements that are sent often. PostgreSQL plans a statement with a name once for each connection, and one
 * without each time. A pooler gives the next transaction to another connection, which does not know the name: behind one,
 * nothing has a name.
 */
export class PreparedStatements {
  readonly #isDirect = new WeakMap<pg.ClientBase, boolean>();
  readonly #uses = new Map<string, number>();
  readonly #names = new Map<string, string>();
  #generation = 0;

  /** Sends a statement. One without values may be several, which have no name. */
  async send(client: pg.ClientBase, text: string, values: readonly unknown[]): Promise<pg.QueryResult<unknown[]>> {
    const name = values.length === 0 ? undefined : await this.#nameOf(client, text);
    try {
      return await client.query({ text, values: [...values], ...(name !== undefined && { name }) });
    } catch (error) {
      if (isStalePlan(error)) this.#forget();
      throw error;
    }
  }

  /** What was planned before a migration is planned anew, in each connection. */
  #forget(): void {
    this.#names.clear();
    this.#generation += 1;
  }

  async #nameOf(client: pg.ClientBase, sql: string): Promise<string | undefined> {
    const name = this.#names.get(sql) ?? this.#newName(sql);
    if (name === undefined) return undefined;
    let isDirect = this.#isDirect.get(client);
    if (isDirect === undefined) {
      // A pooler answers a new connection with a number of its own.
      const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
      isDirect = Connected.safeParse(client).data?.processID === Answer.parse(rows)[0].pid;
      this.#isDirect.set(client, isDirect);
    }
    return isDirect ? name : undefined;
  }

  #newName(sql: string): string | undefined {
    if (this.#names.size >= maxNames) return undefined;
    const uses = (this.#uses.get(sql) ?? 0) + 1;
    if (uses < usesBefore) {
      if (this.#uses.size < maxCounted) this.#uses.set(sql, uses);
      return undefined;
    }
    const name = `millrace_${this.#generation}_${this.#names.size}`;
    this.#names.set(sql, name);
    this.#uses.delete(sql);
    return name;
  }
}
