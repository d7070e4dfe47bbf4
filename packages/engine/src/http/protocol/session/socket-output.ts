import type { WebSocket } from "ws";
import { socketLimits } from "./socket-limits.ts";

/** A reader that takes nothing for so long is gone; it may come back and subscribe again. */
const stalledMilliseconds = 120_000;

/** What goes out over one socket. */
export interface Output {
  /** Sends the answer to a command; while too much of them is not taken, the socket reads no commands. */
  answer(text: string): void;
  /** Sends an event. Resolves when the reader is not far behind; of several callers only one gets ahead of that. */
  sendInTurn(text: string): Promise<void>;
}

/** The part of a socket that is written to. */
export type OutgoingSocket = Pick<
  WebSocket,
  "readyState" | "OPEN" | "bufferedAmount" | "send" | "pause" | "resume" | "terminate"
>;

/** Writes to a socket so that a client that takes nothing costs no more than the limits say. */
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
    // Called when it has left, or cannot any more.
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
