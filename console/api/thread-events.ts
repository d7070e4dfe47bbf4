import { currentKey } from "./key.ts";
import { send } from "./client.ts";

/** How the connection to a thread is. */
export type ConnectionState = "connecting" | "open" | "lost";

/** What follows a thread's events and comes back when it loses them. */
export interface ThreadEvents {
  close(): void;
}

interface Listener {
  /** The place of the newest event that is known, from which a new connection goes on. */
  since(): number;
  onEvent(event: unknown): void;
  onState(state: ConnectionState): void;
}

/** All that a conversation is made of; never the whole state at each step. */
const channels = ["messages", "tools", "lifecycle", "input", "custom"];
const longestPause = 30_000;
/** Failures of sockets after which the events are asked for by HTTP. */
const socketTries = 2;

/** Follows a thread by a WebSocket, or by server-sent events where sockets fail. */
export function followThread(threadId: string, listener: Listener): ThreadEvents {
  const closing = new AbortController();
  void follow(threadId, listener, closing.signal);
  return { close: () => closing.abort() };
}

async function follow(threadId: string, listener: Listener, signal: AbortSignal): Promise<void> {
  let failures = 0;
  let socketFailures = 0;
  while (!signal.aborted) {
    listener.onState("connecting");
    const opened = (): void => {
      failures = 0;
      listener.onState("open");
    };
    const bySocket = socketFailures < socketTries;
    const wasOpen = await (bySocket ? bySocketOf : byHttp)(threadId, { ...listener, opened }, signal).catch(
      () => false,
    );
    if (bySocket) socketFailures = wasOpen ? 0 : socketFailures + 1;
    if (signal.aborted) return;
    listener.onState("lost");
    await pause(Math.min(longestPause, 500 * 2 ** failures) * (0.75 + Math.random() / 2), signal);
    failures += 1;
  }
}

type Opened = Listener & { opened: () => void };

/** Resolves when the socket is closed: whether it had been open. */
function bySocketOf(threadId: string, listener: Opened, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const address = new URL(`/threads/${threadId}/stream/events`, location.href.replace(/^http/u, "ws"));
  const key = currentKey();
  const socket = new WebSocket(address, key === undefined ? [] : ["millrace", `key.${base64url(key)}`]);
  let isOpen = false;
  const end = (): void => socket.close();
  signal.addEventListener("abort", end);
  socket.addEventListener("open", () => {
    isOpen = true;
    const since = listener.since();
    const params = { channels, ...(since > 0 && { since }) };
    socket.send(JSON.stringify({ id: 1, method: "subscription.subscribe", params }));
    listener.opened();
  });
  socket.addEventListener("message", ({ data }) => {
    if (typeof data === "string") listener.onEvent(JSON.parse(data));
  });
  socket.addEventListener("close", () => {
    signal.removeEventListener("abort", end);
    resolve(isOpen);
  });
  return promise;
}

function base64url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCodePoint(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

async function byHttp(threadId: string, listener: Opened, signal: AbortSignal): Promise<boolean> {
  const since = listener.since();
  const body = { channels, ...(since > 0 && { since }) };
  const response = await send(`/threads/${threadId}/stream/events`, { method: "POST", body, signal });
  listener.opened();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const part = await reader?.read();
    if (part === undefined || part.done) return true;
    const frames = (rest + part.value).split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) {
      const data = frame
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6))
        .join("\n");
      if (data !== "") listener.onEvent(JSON.parse(data));
    }
  }
}

/** Waits, but not longer than until the network or the person comes back. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const ended = new AbortController();
  const options = { signal: ended.signal };
  addEventListener("online", () => resolve(), options);
  document.addEventListener("visibilitychange", () => document.hidden || resolve(), options);
  signal.addEventListener("abort", () => resolve(), options);
  return promise.finally(() => {
    clearTimeout(timer);
    ended.abort();
  });
}
