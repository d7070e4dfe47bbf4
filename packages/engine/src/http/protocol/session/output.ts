import type { WebSocket } from "ws";

/** Concurrency limits of one protocol socket. */
export const socketLimits = {
  /** Commands in flight. One more is refused. */
  commands: 64,
  /** Subscriptions. One more is refused. */
  subscriptions: 100,
  /** Characters of unread answers; above it, no more commands are read. */
  answers: 4 * 1024 * 1024,
  /** Bytes buffered for a slow reader before its subscriptions pause. */
  behind: 1024 * 1024,
  /** How much of the past is buffered to be counted, whichever limit comes first. */
  counted: { events: 2000, characters: 1024 * 1024 },
} as const;

/** A reader that accepts nothing for this long is disconnected; it may return and subscribe again. */
const stalledMilliseconds = 120_000;

/** The sending side of one socket. */
export interface Output {
  /** Sends the answer to a command; while too many are unread, the socket reads no commands. */
  answer(text: string): void;
  /** Sends an event. Resolves once the reader is not far behind; of several callers only one may exceed that. */
  sendInTurn(text: string): Promise<void>;
}

/** The writable part of a socket. */
export type OutgoingSocket = Pick<
  WebSocket,
  "readyState" | "OPEN" | "bufferedAmount" | "send" | "pause" | "resume" | "terminate"
>;

/** Writes to a socket such that a client that reads nothing costs no more than the limits allow. */
export function createOutput(socket: OutgoingSocket): Output {
  const isOpen = (): boolean => socket.readyState === socket.OPEN;
  let unread = 0;
  let stalled: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;

  const taken = (text: string): void => {
    unread -= text.length;
    if (stalled === undefined || unread > socketLimits.answers) return;
    clearTimeout(stalled);
    stalled = undefined;
    socket.resume();
  };
  const drain = async (text: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const late = setTimeout(() => socket.terminate(), stalledMilliseconds);
    // Called when it was sent or cannot be sent any more.
    socket.send(text, () => resolve());
    await promise;
    clearTimeout(late);
    draining = undefined;
  };

  return {
    answer(text) {
      if (!isOpen()) return;
      unread += text.length;
      socket.send(text, () => taken(text));
      if (stalled !== undefined || unread <= socketLimits.answers) return;
      stalled = setTimeout(() => socket.terminate(), stalledMilliseconds).unref();
      socket.pause();
    },
    async sendInTurn(text) {
      while (draining !== undefined) await draining;
      if (!isOpen()) return;
      if (socket.bufferedAmount <= socketLimits.behind) return socket.send(text);
      draining = drain(text);
      await draining;
    },
  };
}
