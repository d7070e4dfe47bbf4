import { useEffect, useMemo, useSyncExternalStore } from "react";
import { ApiError, send } from "./client.ts";

/** An event of a run as it was sent: its place, its name, and its data as text. */
export interface RawEvent {
  id: string;
  name: string;
  data: string;
}

/** The events of a run as far as they are known. */
export interface RunEvents {
  events: readonly RawEvent[];
  isPending: boolean;
  error: unknown;
}

const nothing: RunEvents = { events: [], isPending: true, error: undefined };
/** Milliseconds between two changes of the page while events come. */
const quiet = 100;

class EventStore {
  #state = nothing;
  #events: RawEvent[] = [];
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

  #tell(changes: Partial<RunEvents> = {}): void {
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
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const part = await reader?.read();
        if (part === undefined || part.done) break;
        const frames = (rest + part.value).split("\n\n");
        rest = frames.pop() ?? "";
        for (const frame of frames) this.#take(frame);
        this.#timer ??= setTimeout(() => this.#tell(), quiet);
      }
      this.#tell();
    } catch (error) {
      if (signal.aborted) return;
      this.#tell({ error: error instanceof Error ? error : new ApiError(String(error), { status: 0 }) });
    }
  }

  #take(frame: string): void {
    let [id, name] = ["", "message"];
    const data: string[] = [];
    for (const line of frame.split("\n")) {
      if (line.startsWith("id: ")) id = line.slice(4);
      else if (line.startsWith("event: ")) name = line.slice(7);
      else if (line.startsWith("data: ")) data.push(line.slice(6));
    }
    if (data.length > 0) this.#events.push({ id, name, data: data.join("\n") });
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
