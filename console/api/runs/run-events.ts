import { useEffect, useMemo, useSyncExternalStore } from "react";
import { ApiError, send } from "../client.ts";
import { readServerEvents, type ServerEvent } from "../live/server-events.ts";

/** The events of a run as far as they are known. */
export interface RunEvents {
  events: readonly ServerEvent[];
  isPending: boolean;
  error: unknown;
}

const nothing: RunEvents = { events: [], isPending: true, error: undefined };
/** Milliseconds between two changes of the page while events come. */
const quiet = 100;

class EventStore {
  #state = nothing;
  #events: ServerEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
  readonly read = (): RunEvents => this.#state;

  #publish(changes: Partial<RunEvents> = {}): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#state = { events: this.#events.slice(), isPending: false, error: undefined, ...changes };
    for (const listener of this.#listeners) listener();
  }

  async follow(signal: AbortSignal): Promise<void> {
    this.#events = [];
    try {
      const headers = { Accept: "text/event-stream", "Last-Event-ID": "-1" };
      const response = await send(this.#path, { headers, signal });
      await readServerEvents(response, (event) => {
        this.#events.push(event);
        this.#timer ??= setTimeout(() => this.#publish(), quiet);
      });
      this.#publish();
    } catch (error) {
      if (signal.aborted) return;
      this.#publish({ error: error instanceof Error ? error : new ApiError(String(error), { status: 0 }) });
    }
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

/** The address of the events of a run. */
export function eventsPath(threadId: string, runId: string): string {
  return `/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}/stream`;
}

/** The events of a run from its beginning, as they come. */
export function useRunEvents(threadId: string, runId: string): RunEvents {
  const store = useMemo(() => new EventStore(eventsPath(threadId, runId)), [threadId, runId]);
  useEffect(() => {
    const closing = new AbortController();
    void store.follow(closing.signal);
    return () => {
      closing.abort();
      store.stop();
    };
  }, [store]);
  return useSyncExternalStore(store.subscribe, store.read);
}
