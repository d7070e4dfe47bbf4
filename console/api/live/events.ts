import { currentKey, onKey, protocolsOf } from "../key.ts";
import { ApiError, refused, send, type RequestOptions } from "../client.ts";
import { readServerEvents } from "./server-events.ts";

/** How the connection to a thread is. */
export type ConnectionState = "connecting" | "open" | "lost";

interface Listener {
  onEvent(event: unknown): void;
  onState(state: ConnectionState): void;
}

/** Where events come from. `greeting` is what a socket is sent when it opens; without sockets `request` asks for the same. */
interface Source {
  address(): string;
  greeting?(): unknown;
  request(): { path: string; options: RequestOptions };
}

/** All that a conversation is made of; never the whole state at each step. */
const channels = ["messages", "tools", "lifecycle", "input", "custom"];
const maxPauseMs = 30_000;
/** Failures of sockets after which the events are asked for by HTTP. */
const socketTries = 2;
/** A socket that is not served is closed with this and the HTTP status. */
const closedWith = 4_000;

/** How a connection ended: whether events could have come over it, and the status with which it was refused. */
interface Ended {
  wasOpen: boolean;
  status?: number;
}

/** Follows what happens in a thread from the newest event that is known on (`since`); the result ends it. */
export function followThread(threadId: string, since: () => number, listener: Listener): () => void {
  const path = `/threads/${threadId}/stream/events`;
  const wanted = () => ({ channels, ...(since() > 0 && { since: since() }) });
  return begin(
    {
      address: () => path,
      greeting: () => ({ id: 1, method: "subscription.subscribe", params: wanted() }),
      request: () => ({ path, options: { method: "POST", body: wanted() } }),
    },
    listener,
  );
}

/** Follows what changes in all threads, from the newest change that is known on (`since`); the result ends it. */
export function followFeed(since: () => number | undefined, listener: Listener): () => void {
  const address = () => (since() === undefined ? "/feed" : `/feed?since=${since()}`);
  return begin({ address, request: () => ({ path: address(), options: {} }) }, listener);
}

function begin(source: Source, listener: Listener): () => void {
  const closing = new AbortController();
  void follow(source, listener, closing.signal);
  return () => closing.abort();
}

/**
 * Follows a source by a WebSocket, or by server-sent events where sockets fail, and comes back when it is lost. What does not
 * exist is not asked for again.
 */
async function follow(source: Source, listener: Listener, signal: AbortSignal): Promise<void> {
  let failures = 0;
  let socketFailures = 0;
  while (!signal.aborted) {
    listener.onState("connecting");
    const key = currentKey();
    const bySocket = socketFailures < socketTries;
    const { wasOpen, status } = await (bySocket ? followBySocket : followByHttp)(source, listener, signal);
    if (signal.aborted || status === 404) return;
    if (bySocket) socketFailures = wasOpen || status !== undefined ? 0 : socketFailures + 1;
    if (wasOpen) failures = 0;
    if (status === 401 && key !== currentKey()) continue;
    listener.onState("lost");
    if (status === 401) refused(key);
    await pause(Math.min(maxPauseMs, 500 * 2 ** failures) * (0.75 + Math.random() / 2), signal);
    failures += 1;
  }
}

/** Resolves when the socket is closed. */
function followBySocket(source: Source, listener: Listener, signal: AbortSignal): Promise<Ended> {
  const { promise, resolve } = Promise.withResolvers<Ended>();
  const address = new URL(source.address(), location.href.replace(/^http/u, "ws"));
  const socket = new WebSocket(address, protocolsOf(currentKey()));
  let wasOpen = false;
  const opened = (): void => {
    if (wasOpen) return;
    wasOpen = true;
    listener.onState("open");
  };
  const end = (): void => socket.close();
  signal.addEventListener("abort", end);
  socket.addEventListener("open", () => {
    if (source.greeting !== undefined) socket.send(JSON.stringify(source.greeting()));
  });
  socket.addEventListener("message", ({ data }) => {
    // A server that refuses opens the socket only to say so; one that serves answers the greeting.
    opened();
    if (typeof data === "string") listener.onEvent(JSON.parse(data));
  });
  socket.addEventListener("close", ({ code }) => {
    signal.removeEventListener("abort", end);
    resolve({ wasOpen, ...(code > closedWith && { status: code - closedWith }) });
  });
  return promise;
}

async function followByHttp(source: Source, listener: Listener, signal: AbortSignal): Promise<Ended> {
  const { path, options } = source.request();
  const headers = { Accept: "text/event-stream" };
  let wasOpen = false;
  try {
    const response = await send(path, { ...options, headers, signal });
    wasOpen = true;
    listener.onState("open");
    await readServerEvents(response, ({ data }) => listener.onEvent(JSON.parse(data)));
    return { wasOpen };
  } catch (error) {
    return { wasOpen, ...(error instanceof ApiError && error.status !== 0 && { status: error.status }) };
  }
}

/** Waits, but not longer than until the network or the person comes back, or there is another key. */
function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  const ended = new AbortController();
  const options = { signal: ended.signal };
  addEventListener("online", () => resolve(), options);
  document.addEventListener("visibilitychange", () => document.hidden || resolve(), options);
  signal.addEventListener("abort", () => resolve(), options);
  const endKey = onKey(resolve);
  return promise.finally(() => {
    endKey();
    clearTimeout(timer);
    ended.abort();
  });
}
