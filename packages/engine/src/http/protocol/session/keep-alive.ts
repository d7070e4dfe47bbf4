import type { WebSocket } from "ws";

/** How often the other side is asked. */
const pingMilliseconds = 30_000;
/**
 * One that has left so many questions open is gone: it then has taken nothing for two minutes. On a slow link an answer
 * comes late, because the question stands behind all that is to be read first.
 */
const mostUnanswered = 4;

/** The part of a socket that is asked. */
export interface AskedSocket extends Pick<WebSocket, "isPaused" | "ping" | "terminate"> {
  on(event: "pong", listener: () => void): unknown;
}

/** Asks the other side now and then whether it is there; returns what ends that. */
export function keepAlive(socket: AskedSocket): () => void {
  let unanswered = 0;
  socket.on("pong", () => {
    unanswered = 0;
  });
  const timer = setInterval(() => {
    // Nothing is heard of one that has to read its answers first.
    if (socket.isPaused) return;
    if (unanswered === mostUnanswered) {
      socket.terminate();
      return;
    }
    unanswered += 1;
    socket.ping();
  }, pingMilliseconds);
  return () => clearInterval(timer);
}
