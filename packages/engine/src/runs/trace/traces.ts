import { LRUCache } from "lru-cache";
import { isBaseMessage, isBaseMessageChunk } from "../../message-kinds.ts";
import type { RunEvent } from "../../run-events.ts";
import type { Run } from "../../storage/records.ts";
import { followRun, readNewest, readEmitted, type RunSources } from "../follow/follow.ts";
import { isOver } from "../status.ts";
import { toolCallSpans, mergeSpans, modelCallSpans, stepSpans } from "./stored-spans.ts";
import { LogSpans } from "./log-spans.ts";
import { runSpans, toSpan, type Span, type SpanRecord } from "./span.ts";

/** Spans of all traces that are kept for the next page or the next look. */
const spansKept = 200_000;
/** Spans of one run that are gathered; what comes after them is left out, and said so. */
const maxSpans = 100_000;

/** Which spans of a run are wanted. */
export interface TraceQuery {
  /** Only what an event after this one has changed, and what is not from the log. */
  since?: number | undefined;
  /** Only what is below this span. */
  parent?: string | undefined;
  /** So many levels below `parent`, or below the run, which is level 0. */
  depth?: number | undefined;
  limit: number;
  cursor: number;
}

/** A page of the spans of a run. */
export interface TracePage {
  spans: Span[];
  /** The newest event that is in it: what `since` may be next. */
  seq: number;
  /** Where the next page begins; `null` at the end. */
  next: number | null;
  /** The log of the run is gone, or a part of it: less is known. */
  is_log_complete: boolean;
  /** Further spans are left out: the run has too many. */
  is_cut: boolean;
}

/** What has been gathered of a run, and the look that goes on. */
interface Gathered {
  log: LogSpans;
  reading: Promise<unknown>;
  /** What was kept elsewhere of a run that is over. */
  kept?: SpanRecord[];
}

/**
 * The traces of runs, read from what is kept anyway, on request: the log, and where it does not say, the states, the
 * ledger and the messages. Runs themselves do nothing for it. What was gathered stays for the next page, within a bound.
 */
export class Traces {
  readonly #sources: RunSources;
  readonly #gathered = new LRUCache<string, Gathered>({
    maxSize: spansKept,
    sizeCalculation: ({ log, kept }) => log.spans.length + (kept?.length ?? 0) + 1,
  });

  constructor(sources: RunSources) {
    this.#sources = sources;
  }

  /** A page of the spans of a run up to now, in the order in which they began. */
  async read(run: Run, query: TraceQuery, signal: AbortSignal): Promise<TracePage> {
    const { all, seq, isCut } = await this.#all(run, signal);
    const isWanted = wantedBy(all, run, query);
    const spans: Span[] = [];
    let at = query.cursor;
    for (; at < all.length && spans.length < query.limit; at += 1) {
      const span = all[at];
      if (span !== undefined && isWanted(span)) spans.push(toSpan(span, run));
    }
    while (at < all.length && !isWanted(all[at])) at += 1;
    const next = at < all.length ? at : null;
    return { spans, seq, next, is_log_complete: run.expired_events < 0, is_cut: isCut };
  }

  /**
   * The spans of a run as they begin and change, from what came after the event `since` on, to the end of the run; at the
   * end also those that its log does not tell of.
   */
  async *follow(run: Run, since: number, signal: AbortSignal): AsyncGenerator<Span[]> {
    const log = new LogSpans(run.run_id);
    const options = { signal, toEnd: true };
    for await (const batch of followRun(this.#sources, run.run_id, -1, options)) {
      const changed = new Set<SpanRecord>();
      for (const event of batch) {
        if (log.spans.length > maxSpans) break;
        for (const span of log.add(event)) if (event.id > since) changed.add(span);
      }
      if (changed.size > 0) yield [...changed].map((span) => toSpan(span, run));
    }
    const over = (await this.#sources.storage.runs.get(run.run_id)) ?? run;
    const begun = log.spans.map(({ start }) => start);
    const all = mergeSpans(log.spans, await this.#kept(over, log), over);
    const moved = new Set(log.spans.filter(({ start }, index) => start !== begun[index]));
    const left = all.filter((span) => span.source !== "log" || span.status === "running" || moved.has(span));
    yield [...runSpans(over, all), ...left].map((span) => toSpan(span, over));
  }

  /** What went into a span, or came out of it; `undefined` where that is not kept. */
  async payload(
    run: Run,
    id: string,
    side: "input" | "output",
    signal: AbortSignal,
  ): Promise<{ value: unknown } | undefined> {
    const { all } = await this.#all(run, signal);
    const span = all.find((one) => one.id === id);
    if (span === undefined) return undefined;
    if (span.kind === "run") return side === "input" ? { value: run.kwargs.input ?? run.kwargs.command } : undefined;
    if (span.source === "ledger" && side === "output") {
      const call = await this.#sources.storage.ledger.get(run.session_id, id);
      return call?.state === "finished" ? { value: call.result } : undefined;
    }
    const at = span[side];
    if (at === null) return undefined;
    if (span.kind === "model") return side === "input" ? undefined : await this.#reply(run, span, signal);
    const event = await this.#event(run, at, signal);
    return event === undefined ? undefined : payloadOf(event, side);
  }

  async #all(run: Run, signal: AbortSignal): Promise<{ all: SpanRecord[]; seq: number; isCut: boolean }> {
    const found = this.#gathered.get(run.run_id);
    const gathered = found ?? { log: new LogSpans(run.run_id), reading: Promise.resolve() };
    // One reads on where the other has ended; another's end is not this one's.
    const reading = gathered.reading.catch(() => undefined).then(() => this.#readOn(run, gathered, signal));
    gathered.reading = reading;
    if (found === undefined) this.#gathered.set(run.run_id, gathered);
    await reading;
    const { log } = gathered;
    const kept = gathered.kept ?? (await this.#kept(run, log));
    if (isOver(run.status)) gathered.kept = kept;
    this.#gathered.set(run.run_id, gathered);
    const inner = mergeSpans(log.spans, kept, run);
    return { all: [...runSpans(run, inner), ...inner], seq: log.last, isCut: log.spans.length > maxSpans };
  }

  async #readOn(run: Run, { log }: Gathered, signal: AbortSignal): Promise<void> {
    // A part of a log would tell of ends without beginnings.
    if (run.expired_events >= 0) return;
    for await (const batch of readEmitted(this.#sources, run.run_id, log.last, signal)) {
      for (const event of batch) if (event.id > log.last && log.spans.length <= maxSpans) log.add(event);
    }
    signal.throwIfAborted();
  }

  /** The spans that the log does not hold. */
  async #kept(run: Run, { spans }: LogSpans): Promise<SpanRecord[]> {
    const { storage } = this.#sources;
    const has = (kind: SpanRecord["kind"]): boolean => spans.some((span) => span.kind === kind);
    // Calls that never began are shown when their run is over: a long state is not read at each look.
    const isComplete = has("model") && (has("tool") || !isOver(run.status));
    const state = isComplete ? undefined : (await readNewest(storage, run.session_id))?.values;
    const [steps, models, tools] = await Promise.all([
      has("node") ? [] : stepSpans(storage, run),
      has("model") ? [] : modelCallSpans(storage, run, state),
      has("tool") ? [] : toolCallSpans(storage, run, state),
    ]);
    return [...steps, ...models, ...tools];
  }

  async #event(run: Run, id: number, signal: AbortSignal): Promise<RunEvent | undefined> {
    for await (const batch of readEmitted(this.#sources, run.run_id, id - 1, signal)) {
      const [event] = batch;
      return event?.id === id ? event : undefined;
    }
    return undefined;
  }

  /** The reply of a model call, its pieces joined. */
  async #reply(run: Run, span: SpanRecord, signal: AbortSignal): Promise<{ value: unknown } | undefined> {
    const { input: first, output: last, message_id } = span;
    if (first === null || last === null) return undefined;
    let reply: unknown;
    for await (const batch of readEmitted(this.#sources, run.run_id, first - 1, signal)) {
      for (const event of batch) {
        if (event.id > last) return { value: reply };
        if (event.event !== "messages" || !isBaseMessage(event.data) || event.data.id !== message_id) continue;
        const { data } = event;
        // Pieces of one message are of one class, which knows how they are joined.
        reply = isBaseMessageChunk(data) && isBaseMessageChunk(reply) ? reply.concat(data) : data;
      }
    }
    return { value: reply };
  }
}

/** Whether a span is wanted; asked of the spans in their order, each after its parent. */
function wantedBy(
  all: readonly SpanRecord[],
  run: Run,
  { since, parent, depth = Infinity }: TraceQuery,
): (span: SpanRecord | undefined) => boolean {
  const byId = new Map(all.map((span) => [span.id, span]));
  const root = parent ?? run.run_id;
  /** How far a span is below the root; `undefined`: it is not below it. */
  const levelOf = (span: SpanRecord): number | undefined => {
    let level = 0;
    for (let at: SpanRecord | undefined = span; at !== undefined; level += 1) {
      if (at.id === root) return level;
      at = at.parent === null ? undefined : byId.get(at.parent);
    }
    return undefined;
  };
  const hasPlace = parent !== undefined || depth !== Infinity;
  return (span) => {
    if (span === undefined) return false;
    if (since !== undefined && span.source === "log" && span.seq <= since) return false;
    if (!hasPlace) return true;
    const level = levelOf(span);
    return level !== undefined && level <= depth && (parent === undefined || level > 0);
  };
}

/** What an event holds of the beginning or the end of a node or a tool call. */
function payloadOf(event: RunEvent, side: "input" | "output"): { value: unknown } | undefined {
  if (event.event !== "tasks" && event.event !== "tools") return undefined;
  const { data } = event;
  if (typeof data !== "object" || data === null) return undefined;
  const fields: Record<string, unknown> = { ...data };
  if (side === "input") return { value: fields["input"] };
  const failed = fields["error"] ?? undefined;
  return { value: failed ?? (event.event === "tasks" ? fields["result"] : fields["output"]) };
}
