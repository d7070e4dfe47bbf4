import { setImmediate } from "node:timers/promises";
import pg from "pg";
import { withTimeout } from "../../../concurrency/abort.ts";
import { AppError } from "../../../errors/errors.ts";

/** Milliseconds between two questions whether the connection still listens, and that an answer may take. */
const [beat, beatPatience] = [5_000, 2_000];
/** Milliseconds that connecting, and a notice from this server to itself, may take. */
const [connectPatience, testPatience] = [3_000, 1_000];
/** Milliseconds between two tries to listen: at first, at most, and where notices do not come through at all. */
const [shortest, longest, refused] = [50, 5_000, 60_000];

/** What a listener is for. */
export interface ListenerParts {
  /** Where to listen: PostgreSQL itself, since a pooler in between keeps notices back. */
  url: string;
  /** The channels by now; a change is noticed by the next beat. */
  channels: () => readonly string[];
  /** Sends a notice on a channel by another connection. */
  notify: (channel: string, payload: string) => Promise<unknown>;
  onNotice: (payload: string) => void;
  /** Called whenever it begins to listen anew: earlier notices were missed. */
  onRestored: () => void;
  /** Called once for each time that it stops listening, with the reason. */
  onSilent: (reason: unknown) => void;
}

/** The payload by which a server hears itself. */
const testOf = (id: string): string => `test ${id}`;

/**
 * One connection that hears the notices of PostgreSQL. It listens only after a notice to itself has arrived, asks again
 * and again whether it still does, and connects anew when it does not: one attempt at a time, with growing pauses.
 */
export class Listener {
  readonly #parts: ListenerParts;
  readonly #stopped = new AbortController();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #listens = false;
  #wasTold = false;
  #tries = 0;
  #opening: Promise<void> = Promise.resolve();

  constructor(parts: ListenerParts) {
    this.#parts = parts;
  }

  /** Whether notices arrive. */
  get listens(): boolean {
    return this.#listens;
  }

  /** Begins to listen; resolves when the first try has succeeded or failed. */
  start(): Promise<void> {
    return this.#open();
  }

  /** Closes the connection; a second call does nothing more. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    this.#listens = false;
    await this.#opening;
    await end(this.#client);
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
      if (!payload.startsWith(testOf(""))) this.#parts.onNotice(payload);
    });
    this.#listens = true;
    this.#wasTold = false;
    this.#tries = 0;
    this.#later(beat, () => void this.#beat(client));
    onRestored();
  }

  /** Throws when a notice to itself does not arrive: a pooler stands in between. */
  async #test(client: pg.Client): Promise<void> {
    const [channel = ""] = this.#parts.channels();
    const payload = testOf(crypto.randomUUID());
    const { promise, resolve } = Promise.withResolvers<void>();
    const hear = (notice: pg.Notification): void => {
      if (notice.payload === payload) resolve();
    };
    const { signal } = this.#stopped;
    const leave = (): void => resolve();
    client.on("notification", hear);
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
      client.off("notification", hear);
      signal.removeEventListener("abort", leave);
    }
  }

  /** A connection can be half open: it sends nothing, and breaks by no error. */
  async #beat(client: pg.Client): Promise<void> {
    try {
      const asked = client.query<[string]>({ text: "SELECT pg_listening_channels()", rowMode: "array" });
      const { rows } = await inTime(asked, beatPatience);
      const heard = new Set(rows.flat());
      if (!this.#parts.channels().every((channel) => heard.has(channel)))
        throw new Error("It does not listen any more.");
      this.#later(beat, () => void this.#beat(client));
    } catch (error) {
      this.#lose(error, client);
    }
  }

  /** Closes what does not listen, and tries again later. */
  #lose(error: unknown, client: pg.Client | undefined = this.#client): void {
    if (this.#client !== client || client === undefined) return;
    this.#client = undefined;
    this.#listens = false;
    void end(client);
    if (this.#stopped.signal.aborted) return;
    if (!this.#wasTold) this.#parts.onSilent(error);
    this.#wasTold = true;
    const pause = error instanceof AppError ? refused : Math.min(shortest * 2 ** this.#tries, longest);
    this.#tries += 1;
    this.#later(pause * (0.5 + Math.random() / 2), () => void this.#open());
  }

  #later(pause: number, work: () => void): void {
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
async function end(client: pg.Client | undefined): Promise<void> {
  if (client === undefined) return;
  const ended = client.end().catch(() => undefined);
  await withTimeout(ended, beatPatience, () => void client.connection.stream.destroy());
}
