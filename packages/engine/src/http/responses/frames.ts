import type { AIMessageChunk } from "@langchain/core/messages";
import { isAIMessageChunk, isBaseMessage } from "../../message-kinds.ts";
import type { Language } from "../../language.ts";
import { type RunEvent, type StreamMode, streamModes } from "../../run-events.ts";
import { toWireRunError } from "../errors.ts";
import { toWireJson } from "./wire.ts";
import { z } from "zod";
import type { HttpContext } from "../environment.ts";

/** Characters or bytes of long renderings that are cached; the oldest are evicted first. */
const maxKept = 32 * 1024 * 1024;

/** Renderings of this length or more are long. Short ones are cached as long as their object lives. */
const longFrom = 8 * 1024;

/**
 * Caches renderings of objects that several readers receive, in order of arrival. A run keeps its newest events for its
 * readers. Each may be a state of megabytes that shares its messages with others; their texts share nothing.
 */
export class Renderings<Rendering> {
  readonly #known = new WeakMap<object, Rendering>();
  readonly #long: { of: WeakRef<object>; length: number }[] = [];
  #kept = 0;

  /** `undefined` if it was never rendered or has been evicted. */
  get(of: object): Rendering | undefined {
    return this.#known.get(of);
  }

  /** Caches a rendering of this length. */
  set(of: object, rendering: Rendering, length: number): void {
    this.#known.set(of, rendering);
    if (length < longFrom) return;
    this.#long.push({ of: new WeakRef(of), length });
    this.#kept += length;
    while (this.#kept > maxKept) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.#long.shift();
    const of = oldest?.of.deref();
    this.#kept -= oldest?.length ?? 0;
    if (of !== undefined) this.#known.delete(of);
  }
}

/** What one reader asked for. */
export interface FrameOptions {
  /** Whether frames carry an `id:` (thread streams do, stateless ones do not). */
  ids: boolean;
  /** Only these modes; `metadata` and `error` always come. Default all. */
  modes?: readonly StreamMode[] | undefined;
  /** Only events of these subgraph paths (joined by `|`, empty for the root), without nested ones. Default all. */
  namespaces?: readonly string[] | undefined;
  /** Prefix of the number in an `id:`, for streams of several runs. Default none. */
  idPrefix?: string;
  /** Events up to this id are read but not written, for a reader that reconnects. Default none. */
  after?: number;
  /** The language of error explanations; read when a run has failed. Default English. */
  language?: () => Language;
}

/** The frame of an event: text, or bytes if long, encoded once for all readers of the same frame. */
export type Frame = string | Uint8Array;

/** Frames of this many characters or more are encoded once for all readers. */
const encodedFrom = 8 * 1024;

/** An event's frame without its ending, rendered once for all readers. */
const rendered = new Renderings<string>();
/** The bytes of a long frame, with the ending of its last reader. */
const encoded = new Renderings<{ end: string; bytes: Uint8Array }>();
/** All tokens of a model call share one metadata object. */
const renderedMetadata = new WeakMap<object, string>();

/**
 * Creates one reader's writer of server-sent events: event in, frame out, `""` for events the reader does not want. It
 * holds the state of the `messages` mode, where every frame contains the whole message so far.
 */
export function createFrames(options: FrameOptions): (event: RunEvent) => Frame {
  const soFar = new Map<string, AIMessageChunk>();
  const after = options.after ?? -1;
  const { language = () => "en" } = options;
  return (event) => {
    if (!isWanted(event, options)) return "";
    const partial = event.event === "messages/partial" ? addUp(soFar, event.data) : undefined;
    if (event.event === "messages/complete") forget(soFar, event.data);
    if (event.id <= after) return "";
    const end = options.ids ? `id: ${options.idPrefix ?? ""}${event.id}\n\n` : "\n";
    if (partial !== undefined) return frameText(event, `[${toWireJson(partial)}]`) + end;
    // Each reader gets errors in its own language.
    if (event.event === "error") return frameText(event, JSON.stringify(toWireRunError(event.data, language()))) + end;
    const frame = sharedFrame(event);
    return frame.length >= encodedFrom ? encode(event, frame, end) : frame + end;
  };
}

/** The length of an event's frame without its id, 0 if the reader does not want it; rendered once for all. */
export function frameLength(event: RunEvent, wanted: Pick<FrameOptions, "modes" | "namespaces">): number {
  return isWanted(event, wanted) ? sharedFrame(event).length : 0;
}

/** Tells a reader which ids are missing from the log. The frame has no id, since it is not an event of the run. */
export function gapFrame({ from, to }: { from: number; to: number }): string {
  return `event: gap\ndata: ${JSON.stringify({ from, to })}\n\n`;
}

/** The mode of an event, or `undefined` for events that every reader gets. */
function modeOf(event: Exclude<RunEvent, { event: "checkpoint" }>): StreamMode | undefined {
  switch (event.event) {
    case "metadata":
    case "feedback":
    case "error":
      return undefined;
    case "messages":
      return "messages-tuple";
    case "messages/metadata":
    case "messages/partial":
    case "messages/complete":
      return "messages";
    default:
      return event.event;
  }
}

function isWanted(event: RunEvent, { modes, namespaces }: Pick<FrameOptions, "modes" | "namespaces">): boolean {
  if (event.event === "checkpoint") return false;
  if (namespaces !== undefined && "namespace" in event && !namespaces.includes(event.namespace.join("|"))) return false;
  if (modes === undefined) return true;
  const mode = modeOf(event);
  return mode === undefined || modes.includes(mode);
}

function addUp(soFar: Map<string, AIMessageChunk>, chunk: unknown): unknown {
  if (!isAIMessageChunk(chunk) || chunk.id === undefined) return chunk;
  const known = soFar.get(chunk.id);
  const sum = known === undefined ? chunk : known.concat(chunk);
  soFar.set(chunk.id, sum);
  return sum;
}

function forget(soFar: Map<string, AIMessageChunk>, messages: readonly unknown[]): void {
  for (const message of messages) if (isBaseMessage(message) && message.id !== undefined) soFar.delete(message.id);
}

function sharedFrame(event: RunEvent): string {
  let frame = rendered.get(event);
  if (frame === undefined) {
    const data = toWireJson(event.data);
    frame = frameText(event, event.event === "messages" ? `[${data},${metadataText(event.metadata)}]` : data);
    rendered.set(event, frame, frame.length);
  }
  return frame;
}

function encode(event: RunEvent, frame: string, end: string): Uint8Array {
  const known = encoded.get(event);
  if (known?.end === end) return known.bytes;
  const bytes = Buffer.from(frame + end);
  encoded.set(event, { end, bytes }, bytes.length);
  return bytes;
}

function frameText(event: RunEvent, data: string): string {
  const name =
    "namespace" in event && event.namespace.length > 0 ? `${event.event}|${event.namespace.join("|")}` : event.event;
  return `event: ${name}\ndata: ${data}\n`;
}

function metadataText(metadata: Record<string, unknown>): string {
  let text = renderedMetadata.get(metadata);
  if (text === undefined) {
    text = toWireJson(metadata);
    renderedMetadata.set(metadata, text);
  }
  return text;
}

const Names = z.array(z.string());

/**
 * The names under a query key; `undefined` if absent. Several come comma-separated, as a repeated key (SDK 1.15), or as
 * a JSON array (SDK 2.0.0, which sends every non-text value so).
 */
export function namesInQuery(context: HttpContext, key: string): string[] | undefined {
  const names = (context.req.queries(key) ?? []).flatMap(namesIn).filter((name) => name !== "");
  return names.length === 0 ? undefined : names;
}

/** The names in the query's `stream_mode`; `undefined` without one. */
export function namedModes(context: HttpContext): string[] | undefined {
  return namesInQuery(context, "stream_mode");
}

/** The known modes of the query: only unknown names give no data, no names (`undefined`) give all. */
export function knownModes(context: HttpContext): StreamMode[] | undefined {
  const names = namedModes(context);
  return names && streamModes.filter((mode) => names.includes(mode));
}

/** The subgraph paths in the query's `namespace`; the root is empty; `undefined` if absent. */
export function namespacesInQuery(context: HttpContext): string[] | undefined {
  return context.req.queries("namespace")?.flatMap((text) => (text.startsWith("[") ? namesIn(text) : [text]));
}

function namesIn(text: string): string[] {
  if (!text.startsWith("[")) return text.split(",");
  try {
    return Names.safeParse(JSON.parse(text)).data ?? [text];
  } catch {
    // Not an array after all: an unknown mode.
    return [text];
  }
}
