import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** Milliseconds that a connection may take. */
const connectPatience = 3_000;
/** Milliseconds between two attempts to connect while there is no connection, on average. */
const outagePauseMs = 300;

/** `bigint` are keys and counts, which numbers hold. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 && format !== "binary" ? Number : pg.types.getTypeParser(type, format),
};

/**
 * A pool of connections to one database. When all of them are lost, one attempt at a time stands for all callers: a
 * PostgreSQL that starts again would be busy with refusing the attempts of many servers.
 */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #established = new Set<pg.PoolClient>();
  #isDown = false;
  /** The attempt that all callers wait for. */
  #attempt: Promise<void> | undefined;

  /** `onLost`: called when an idle connection breaks. Connects when the first caller comes. */
  constructor(url: string, max: number, onLost: () => void) {
    this.#pool = new pg.Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: connectPatience,
      keepAlive: true,
      types,
      application_name: "millrace",
    });
    // An idle connection that breaks is replaced by the next statement.
    this.#pool.on("error", onLost);
    this.#pool.on("connect", (client) => {
      this.#established.add(client);
      // One that breaks in use fails its statement; without a listener, one that breaks between two would end the process.
      client.on("error", () => undefined);
    });
    this.#pool.on("remove", (client) => void this.#established.delete(client));
  }

  /** A connection, which the caller releases. Throws what PostgreSQL or the network says. */
  async connect(): Promise<pg.PoolClient> {
    if (this.#isDown) await (this.#attempt ??= this.#tryOnce());
    try {
      return await this.#pool.connect();
    } catch (error) {
      this.#isDown = this.#established.size === 0;
      throw error;
    }
  }

  async #tryOnce(): Promise<void> {
    try {
      await sleep(outagePauseMs * (0.5 + Math.random()));
      (await this.#pool.connect()).release();
      this.#isDown = false;
    } finally {
      this.#attempt = undefined;
    }
  }

  /** Closes every connection. */
  end(): Promise<void> {
    return this.#pool.end();
  }
}
