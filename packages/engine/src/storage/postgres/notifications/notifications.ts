import { z } from "zod";
import { PeerNotification, type PeerNotifications } from "../../cluster.ts";
import type { PostgresDatabase } from "../database/database.ts";
import { Listener } from "../database/listener.ts";
import { channelOf, encodeNotification, NotificationQueue } from "./notification-queue.ts";

/** The longest payload that NOTIFY accepts, in bytes. Clients may choose long ids. */
const maxPayloadLength = 7_999;

const Envelope = z.tuple([z.number(), PeerNotification]);

/** Options of `PostgresNotifications`. */
export interface NotificationOptions {
  database: PostgresDatabase;
  /** The address to listen on. */
  url: string;
  /** The id of this server, which changes after a lost lease. */
  id: () => number;
  /** Whether there are other servers now. */
  hasPeers: () => boolean;
  /** Called when the listener has lost its connection: callers poll until it is back. */
  onListenerLost: (reason: unknown) => void;
}

/** Notifications between servers, by LISTEN and NOTIFY of PostgreSQL. */
export class PostgresNotifications implements PeerNotifications {
  readonly isShared = true;
  readonly #hasPeers: () => boolean;
  readonly #id: () => number;
  readonly #queue: NotificationQueue;
  readonly #listener: Listener;
  readonly #subscribers: ((notification: PeerNotification, from: number) => void)[] = [];
  readonly #restored: (() => void)[] = [];

  constructor({ database, url, id, hasPeers, onListenerLost }: NotificationOptions) {
    this.#id = id;
    this.#hasPeers = hasPeers;
    this.#queue = new NotificationQueue(database);
    this.#listener = new Listener({
      url,
      channels: () => [channelOf("all"), channelOf(id())],
      notify: (channel, payload) => database.rows("SELECT pg_notify($1, $2)", [channel, payload]),
      onNotification: (payload) => this.#receive(payload),
      onRestored: () => {
        for (const listener of this.#restored) listener();
      },
      onLost: onListenerLost,
    });
  }

  get hasPeers(): boolean {
    return this.#hasPeers();
  }

  get isListening(): boolean {
    return this.#listener.isListening;
  }

  /** Starts to listen; resolves when the first attempt has succeeded or failed. */
  start(): Promise<void> {
    return this.#listener.start();
  }

  send(to: number | "all", notification: PeerNotification): boolean {
    if (!this.hasPeers) return true;
    const payload = encodeNotification(this.#id(), notification);
    if (Buffer.byteLength(payload) > maxPayloadLength) return false;
    this.#queue.enqueue(channelOf(to), payload);
    return true;
  }

  onNotification(listener: (notification: PeerNotification, from: number) => void): void {
    this.#subscribers.push(listener);
  }

  /** Adds a listener for each reconnection: notifications before it may have been missed. */
  onRestored(listener: () => void): void {
    this.#restored.push(listener);
  }

  #receive(payload: string): void {
    const envelope = Envelope.safeParse(jsonOf(payload)).data;
    // A later version may send types that this one does not know.
    if (envelope === undefined) return;
    const [from, notification] = envelope;
    if (from === this.#id()) return;
    for (const listener of this.#subscribers) listener(notification, from);
  }

  /** Stops sending and listening. */
  async stop(): Promise<void> {
    await Promise.all([this.#listener.stop(), this.#queue.stop()]);
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
