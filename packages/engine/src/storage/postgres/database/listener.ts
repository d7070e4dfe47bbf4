import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { withTimeout } from "../../../concurrency/abort.ts";
import { AppError } from "../../../errors/errors.ts";

/** Milliseconds between two checks of the connection, and the timeout of a check. */
const [beat, beatPatience] = [5_000, 2_000];
/** Timeouts in milliseconds: of connecting, and of a test notification to this server itself. */
const [connectPatience, testPatience] = [3_000, 1_000];
/** Milliseconds between two attempts to connect: minimum, maximum, and where notifications never arrive. */
const [minPauseMs, maxPauseMs, refused] = [50, 5_000, 60_000];

/** Options of a listener. */
export interface ListenerOptions {
  /** The address of PostgreSQL itself: a pooler does not pass notifications on. */
  url: string;
  /** The current channels; the next check detects a change. */
  channels: () => readonly string[];
  /** Sends a notification by another connection. */
  notify: (channel: string, payload: string) => Promise<unknown>;
  onNotification: (payload: string) => void;
  /** Called after each connection: earlier notifications were missed. */
  onRestored: () => void;
  /** Called once for each lost connection, with the reason. */
  onLost: (reason: unknown) => void;
}

/** The payload of a test notification. */
const testOf = (id: string): string => `test ${id}`;

/**
 * One connection that receives the notifications of PostgreSQL. It is ready once a test notification has arrived, checks
 * itself periodically, and reconnects with exponential backoff.
 */
export class Listener {
  readonly #parts: ListenerOptions;
  readonly #stopped = new AbortController();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listens = false;
  #wasReported = false;
  #tries = 0;
  #opening: Promise<void> = Promise.resolve();

  constructor(parts: ListenerOptions) {
    this.#parts = parts;
  }

  /** Whether notifications arrive. */
  get isListening(): boolean {
    return this.#listens;
  }

  /** Starts to listen; resolves when the first attempt has succeeded or failed. */
  start(): Promise<void> {
    return this.#open();
  }

  /** Closes the connection; a second call does nothing more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    this.#listens = false;
    await this.#opening;
    await endClient(this.#client);
  }

  #open(): Promise<void> {
    this.#opening = this.#connect().catch((error: unknown) => this.#lose(error));
    return this.#opening;
  }

  async #connect(): Promise<void> {
    const { url, channels, onRestored } = this.#parts;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectPatience,
      keepAlive: true,
      application_name: "millrace",
    });
    this.#client = client;
    // Without a listener an error of the connection would end the process.
    client.on("error", (error) => this.#lose(error, client));
    client.on("end", () => this.#lose(new Error("The connection has ended."), client));
    await client.connect();
    for (const channel of channels()) {
      await inTime(client.query(`LISTEN ${pg.escapeIdentifier(channel)}`), beatPatience);
    }
    // A server that stops does not wait for the test.
    if (!this.#stopped.signal.aborted) await this.#test(client);
    if (this.#stopped.signal.aborted || this.#client !== client) return;
    client.on("notification", ({ payload = "" }) => {
      if (!payload.startsWith(testOf(""))) this.#parts.onNotification(payload);
    });
    this.#listens = true;
    this.#wasReported = false;
    this.#tries = 0;
    this.#schedule(beat, () => void this.#beat(client));
    onRestored();
  }

  /** Throws when a test notification does not arrive, as behind a pooler. */
  async #test(client: pg.Client): Promise<void> {
    const [channel = ""] = this.#parts.channels();
    const payload = testOf(crypto.randomUUID());
    const { promise, resolve } = Promise.withResolvers<void>();
    const onMessage = (notice: pg.Notification): void => {
      if (notice.payload === payload) resolve();
    };
    const { signal } = this.#stopped;
    const leave = (): void => resolve();
    client.on("notification", onMessage);
    signal.addEventListener("abort", leave);
    try {
      await this.#parts.notify(channel, payload);
      await withTimeout(promise, testPatience, async () => {
        // A process that was busy reads first what has come meanwhile.
        await setImmediate();
        throw new AppError("storage_unavailable", "A notice from PostgreSQL to this server has not arrived.", {
          suggestion: "Name an address without a pooler in MILLRACE_DATABASE_LISTEN_URL.",
        });
      });
    } finally {
      client.off("notification", onMessage);
      signal.removeEventListener("abort", leave);
    }
  }

  /** A connection can be half open: it sends nothing, and breaks by no error. */
  async #beat(client: pg.Client): Promise<void> {
    try {
      const asked = client.query<[string]>({ text: "SELECT pg_listening_channels()", rowMode: "array" });
      const { rows } = await inTime(asked, beatPatience);
      const listening = new Set(rows.flat());
      if (!this.#parts.channels().every((channel) => listening.has(channel)))
        throw new Error("It does not listen any more.");
      this.#schedule(beat, () => void this.#beat(client));
    } catch (error) {
      this.#lose(error, client);
    }
  }

  /** Closes what does not listen, and tries again later. */
  #lose(error: unknown, client: pg.Client | undefined = this.#client): void {
    if (this.#client !== client || client === undefined) return;
    this.#client = undefined;
    this.#listens = false;
    void endClient(client);
    if (this.#stopped.signal.aborted) return;
    if (!this.#wasReported) this.#parts.onLost(error);
    this.#wasReported = true;
    const pause = error instanceof AppError ? refused : Math.min(minPauseMs * 2 ** this.#tries, maxPauseMs);
    this.#tries += 1;
    this.#schedule(pause * (0.5 + Math.random() / 2), () => void this.#open());
  }

  #schedule(pause: number, work: () => void): void {
    clearTimeout(this.#timer);
    if (!this.#stopped.signal.aborted) this.#timer = setTimeout(work, pause).unref();
  }
}

async function inTime<Result>(work: Promise<Result>, patience: number): Promise<Result> {
  return await withTimeout(work, patience, () => {
    throw new Error(`PostgreSQL has not answered within ${patience} ms.`);
  });
}

/** Closes a connection, by force where its other side does not answer. Never throws. */
export async function endClient(client: pg.Client | undefined): Promise<void> {
  if (client === undefined) return;
  const ended = client.end().catch(() => undefined);
  await withTimeout(ended, beatPatience, () => void client.connection.stream.destroy());
}
