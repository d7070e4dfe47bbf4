import { useEffect, useMemo, useSyncExternalStore } from "react";
import * as z from "zod/mini";
import { spanKinds, type Span } from "../../run/spans.ts";
import { ApiError, request, send } from "../client.ts";
import { readServerEvents } from "../live/server-events.ts";

const Time = z.pipe(
  z.nullable(z.string()),
  z.transform((text) => (text === null ? null : Date.parse(text))),
);
const WireSpan = z.object({
  id: z.string(),
  parent: z.nullable(z.string()),
  kind: z.enum(spanKinds),
  name: z.string(),
  node: z.nullable(z.string()),
  namespace: z.array(z.string()),
  checkpoint_id: z.nullable(z.string()),
  start: Time,
  first_token: Time,
  end: Time,
  status: z.string(),
  usage: z.nullable(z.object({ input_tokens: z.number(), output_tokens: z.number(), cached_tokens: z.number() })),
  cost: z.nullable(z.number()),
  model: z.nullable(z.string()),
  error: z.nullable(z.object({ error: z.string(), message: z.string() })),
  model_call_id: z.nullable(z.string()),
  tool_call_id: z.nullable(z.string()),
  payloads: z.object({ input: z.boolean(), output: z.boolean() }),
  seq: z.number(),
});
const Head = z.object({ status: z.string(), is_log_complete: z.boolean(), is_cut: z.boolean() });

/** The parts of a run as they are known now. */
export interface Trace {
  spans: ReadonlyMap<string, Span>;
  isPending: boolean;
  error: unknown;
  /** Less is known, since the log of the run is gone. */
  isLogComplete: boolean;
  isCut: boolean;
}

const pause = 1_000;

/** Follows the parts of a run to its end; the page hears of them once in a frame. */
class TraceStore {
  #trace: Trace = { spans: new Map(), isPending: true, error: undefined, isLogComplete: true, isCut: false };
  readonly #path: string;
  readonly #spans = new Map<string, Span>();
  readonly #listeners = new Set<() => void>();
  #newest = -1;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly read = (): Trace => this.#trace;

  #change(changes: Partial<Trace>): void {
    this.#trace = { ...this.#trace, ...changes };
    for (const listener of this.#listeners) listener();
  }

  #flushSoon(): void {
    // The more there is, the longer it takes to show it.
    this.#timer ??= setTimeout(() => this.#flush(), 50 + this.#spans.size / 100);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#change({ spans: new Map(this.#spans), isPending: false, error: undefined });
  }

  /** Reads until the run is over or the signal comes; after a break it goes on from where it was. */
  async follow(signal: AbortSignal): Promise<void> {
    for (;;) {
      try {
        await this.#readEvents(signal);
        const head = await request(`${this.#path}?limit=1`, Head, { signal });
        this.#flush();
        this.#change({ isLogComplete: head.is_log_complete, isCut: head.is_cut });
        if (head.status !== "running" && head.status !== "pending") return;
        // A server that stops ends its streams before the run is over.
        await new Promise((resolve) => setTimeout(resolve, pause));
        if (signal.aborted) return;
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof ApiError && error.status !== 0 && error.status < 500) {
          this.#change({ error, isPending: false });
          return;
        }
        if (this.#spans.size === 0) this.#change({ error, isPending: false });
        await new Promise((resolve) => setTimeout(resolve, pause));
        if (signal.aborted) return;
      }
    }
  }

  async #readEvents(signal: AbortSignal): Promise<void> {
    const since = this.#newest < 0 ? "" : `?since=${this.#newest}`;
    const response = await send(this.#path + since, { headers: { Accept: "text/event-stream" }, signal });
    await readServerEvents(response, ({ data }) => this.#take(data));
  }

  #take(data: string): void {
    const read = z.safeParse(WireSpan, JSON.parse(data));
    if (!read.success) return;
    const { seq, ...span } = read.data;
    this.#newest = Math.max(this.#newest, seq);
    this.#spans.set(span.id, span);
    this.#flushSoon();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const none: Trace = { spans: new Map(), isPending: false, error: undefined, isLogComplete: true, isCut: false };

/** The parts of a run, live; of no run as long as there is none. */
export function useTrace(threadId: string | undefined, runId: string | undefined): Trace {
  const store = useMemo(
    () => (threadId === undefined || runId === undefined ? undefined : new TraceStore(tracePath(threadId, runId))),
    [threadId, runId],
  );
  useEffect(() => {
    if (store === undefined) return undefined;
    const closing = new AbortController();
    void store.follow(closing.signal);
    return () => {
      closing.abort();
      store.stop();
    };
  }, [store]);
  return useSyncExternalStore(store?.subscribe ?? subscribeToNothing, store?.read ?? readNothing);
}

const subscribeToNothing = () => () => undefined;
const readNothing = () => none;

function tracePath(threadId: string, runId: string): string {
  return `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/trace`;
}

/** Bytes of a payload that are read without being asked for. */
export const smallPayload = 65_536;

/** What went into or came out of a span, as text; the first bytes of a large one, with the size of all of it. */
export async function readPayload(
  place: { threadId: string; runId: string; spanId: string; side: "input" | "output" },
  isWhole: boolean,
  signal: AbortSignal,
): Promise<{ text: string; size: number } | undefined> {
  const { threadId, runId, spanId, side } = place;
  try {
    const path = `${tracePath(threadId, runId)}/${encodeURIComponent(spanId)}/${side}`;
    const headers: Record<string, string> = isWhole ? {} : { Range: `bytes=0-${smallPayload - 1}` };
    const response = await send(path, { signal, headers });
    const text = await response.text();
    const total = /\/(?<total>\d+)$/u.exec(response.headers.get("content-range") ?? "")?.groups?.["total"];
    return { text, size: total === undefined ? text.length : Number(total) };
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
