import { currentKey } from "./key.ts";
import { send, type RequestOptions } from "./client.ts";

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
const longestPause = 30_000;
/** Failures of sockets after which the events are asked for by HTTP. */
const socketTries = 2;

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

/** Follows a source by a WebSocket, or by server-sent events where sockets fail, and comes back when it is lost. */
async function follow(source: Source, listener: Listener, signal: AbortSignal): Promise<void> {
  let failures = 0;
  let socketFailures = 0;
  while (!signal.aborted) {
    listener.onState("connecting");
    const opened = (): void => {
      failures = 0;
      listener.onState("open");
    };
    const bySocket = socketFailures < socketTries;
    const wasOpen = await (bySocket ? followBySocket : followByHttp)(source, { ...listener, opened }, signal).catch(
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
function followBySocket(source: Source, listener: Opened, signal: AbortSignal): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const address = new URL(source.address(), location.href.replace(/^http/u, "ws"));
  const key = currentKey();
  const socket = new WebSocket(address, key === undefined ? [] : ["millrace", `key.${base64url(key)}`]);
  let isOpen = false;
  const end = (): void => socket.close();
  signal.addEventListener("abort", end);
  socket.addEventListener("open", () => {
    isOpen = true;
    if (source.greeting !== undefined) socket.send(JSON.stringify(source.greeting()));
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

async function followByHttp(source: Source, listener: Opened, signal: AbortSignal): Promise<boolean> {
  const { path, options } = source.request();
  const headers = { Accept: "text/event-stream" };
  const response = await send(path, { ...options, headers, signal });
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
