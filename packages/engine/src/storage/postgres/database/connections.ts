import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

/** Milliseconds that a connection may take. */
const connectPatience = 3_000;
/** Milliseconds between two attempts to connect while there is no connection, on average. */
const outagePauseMs = 300;
/** Connections that are opened at first after one has broken, and milliseconds after which there may be twice as many. */
const [firstConnections, growthPauseMs] = [2, 1_000];

/** `bigint` are keys and counts, which numbers hold. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (type, format) =>
    type === pg.types.builtins.INT8 && format !== "binary" ? Number : pg.types.getTypeParser(type, format),
};

/**
 * A pool of connections to one database. When all of them are lost, one attempt at a time stands for all callers, and the
 * pool is filled step by step: a PostgreSQL that starts again is not flooded by many servers.
 */
export class Connections {
  readonly #pool: pg.Pool;
  readonly #max: number;
  readonly #established = new Set<pg.PoolClient>();
  #growth: NodeJS.Timeout | undefined;
  #isDown = false;
  /** The attempt that all callers wait for. */
  #attempt: Promise<void> | undefined;

  /** `onLost`: called when an idle connection breaks. Connects when the first caller comes. */
  constructor(url: string, max: number, onLost: () => void) {
    this.#max = max;
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
      // From the first one on, however long PostgreSQL was away.
      if (this.#pool.options.max < this.#max && this.#established.size === 0) this.#limit();
      this.#established.add(client);
      // One that breaks in use fails its statement; without a listener, one that breaks between two would end the process.
      client.on("error", () => this.#limit());
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

  /** A connection has broken: the pool opens few at first. */
  #limit(): void {
    clearTimeout(this.#growth);
    this.#pool.options.max = Math.min(this.#max, firstConnections);
    this.#growth = setTimeout(() => this.#grow(), growthPauseMs).unref();
  }

  #grow(): void {
    // It grows again from the first connection on.
    if (this.#established.size === 0) return;
    const { options, waitingCount } = this.#pool;
    const added = Math.min(this.#max, options.max * 2) - options.max;
    options.max += added;
    this.#growth = options.max < this.#max ? setTimeout(() => this.#grow(), growthPauseMs).unref() : undefined;
    // Callers that wait already are served when a connection is released.
    for (let left = Math.min(added, waitingCount); left > 0; left -= 1) {
      this.#pool.connect().then(
        (client) => client.release(),
        () => undefined,
      );
    }
  }

  /** Closes every connection. */
  end(): Promise<void> {
    clearTimeout(this.#growth);
    return this.#pool.end();
  }
}
