import { z } from "zod";
import { Hint, type Hints } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { Listener } from "../database/listener.ts";
import { channelOf, noticeOf, Notices } from "./notices.ts";

/** The longest payload that PostgreSQL takes, in bytes; a hint is a few identifiers, of which a client may choose long ones. */
const longestPayload = 7_999;

const Told = z.tuple([z.number(), Hint]);

/** What the hints of a server need. */
export interface HintParts {
  database: PostgresDatabase;
  /** Where to listen. */
  url: string;
  /** The number of this server, which changes when it was lost. */
  id: () => number;
  /** Whether there are other servers now. */
  hasOthers: () => boolean;
  /** Called when it hears nothing: then others are followed by looking. */
  onSilent: (reason: unknown) => void;
}

/** What this server tells the others by PostgreSQL, and what they tell it. */
export class PostgresHints implements Hints {
  readonly isShared = true;
  readonly #hasOthers: () => boolean;
  readonly #id: () => number;
  readonly #notices: Notices;
  readonly #listener: Listener;
  readonly #tells: ((hint: Hint, from: number) => void)[] = [];
  readonly #restored: (() => void)[] = [];

  constructor({ database, url, id, hasOthers, onSilent }: HintParts) {
    this.#id = id;
    this.#hasOthers = hasOthers;
    this.#notices = new Notices(database);
    this.#listener = new Listener({
      url,
      channels: () => [channelOf("all"), channelOf(id())],
      notify: (channel, payload) => database.rows("SELECT pg_notify($1, $2)", [channel, payload]),
      onNotice: (payload) => this.#hear(payload),
      onRestored: () => {
        for (const tell of this.#restored) tell();
      },
      onSilent,
    });
  }

  get hasOthers(): boolean {
    return this.#hasOthers();
  }

  get listens(): boolean {
    return this.#listener.listens;
  }

  /** Begins to listen; resolves when it does, or when the first try has failed. */
  start(): Promise<void> {
    return this.#listener.start();
  }

  hint(to: number | "all", hint: Hint): boolean {
    if (!this.hasOthers) return true;
    const payload = noticeOf(this.#id(), hint);
    if (Buffer.byteLength(payload) > longestPayload) return false;
    this.#notices.tell(channelOf(to), payload);
    return true;
  }

  onHint(tell: (hint: Hint, from: number) => void): void {
    this.#tells.push(tell);
  }

  /** Calls back whenever it listens anew: earlier notices may have been missed. */
  onRestored(tell: () => void): void {
    this.#restored.push(tell);
  }

  #hear(payload: string): void {
    const told = Told.safeParse(jsonOf(payload)).data;
    // A later version may have other hints.
    if (told === undefined || told[0] === this.#id()) return;
    for (const tell of this.#tells) tell(told[1], told[0]);
  }

  /** Tells and hears nothing more. */
  async stop(): Promise<void> {
    await Promise.all([this.#listener.stop(), this.#notices.stop()]);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
