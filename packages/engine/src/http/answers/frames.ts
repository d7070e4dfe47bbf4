import type { AIMessageChunk } from "@langchain/core/messages";
import { isAIMessageChunk, isBaseMessage } from "../../message-kinds.ts";
import type { Language } from "../../language.ts";
import { type RunEvent, type StreamMode, streamModes } from "../../run-events.ts";
import { toWireRunError } from "../errors.ts";
import { toWireJson } from "./wire.ts";
import { z } from "zod";
import type { HttpContext } from "../environment.ts";

/** Together the long ones have at most so many characters or bytes; the oldest go first. */
const mostKept = 32 * 1024 * 1024;

/** From this length on a rendering is long: short ones stay as long as what they were made of. */
const longFrom = 8 * 1024;

/**
 * What was rendered of objects that several readers get, in the order in which they came. A run keeps its newest events
 * for its readers; each may be a state of megabytes, whose messages they share, and its text would not.
 */
export class Renderings<Rendering> {
  readonly #known = new WeakMap<object, Rendering>();
  readonly #long: { of: WeakRef<object>; length: number }[] = [];
  #kept = 0;

  /** `undefined` where it was not rendered, or that is too long ago. */
  get(of: object): Rendering | undefined {
    return this.#known.get(of);
  }

  /** Keeps a rendering of this length. */
  set(of: object, rendering: Rendering, length: number): void {
    this.#known.set(of, rendering);
    if (length < longFrom) return;
    this.#long.push({ of: new WeakRef(of), length });
    this.#kept += length;
    while (this.#kept > mostKept) this.#forgetOldest();
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
  /** Only events of these paths of subgraphs (joined by `|`, empty at the root), each without what is below. Default all. */
  namespaces?: readonly string[] | undefined;
  /** What stands before the number in an `id:`, where one stream holds several runs. Default nothing. */
  idPrefix?: string;
  /** Events up to this id are taken in but not written: for a reader that comes back. Default none. */
  after?: number;
  /** In which a failed run is explained; asked where one has failed. Default English. */
  language?: () => Language;
}

/** What is written for an event: text, or for a long one its bytes, encoded once for all readers that get the same. */
export type Frame = string | Uint8Array;

/** Characters from which on a frame is encoded once for all its readers. */
const encodedFrom = 8 * 1024;

/** An event's frame without its end, rendered once for all readers. */
const rendered = new Renderings<string>();
/** The bytes of a long frame with the end that its last reader got. */
const encoded = new Renderings<{ end: string; bytes: Uint8Array }>();
/** The metadata of a model call is the same object for each of its tokens. */
const renderedMetadata = new WeakMap<object, string>();

/**
 * Makes one reader's writer of server-sent events: event in, frame out, `""` for an event the reader does not want. It
 * keeps the state of the `messages` mode, where every frame holds the whole message so far.
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
    // Each reader is told in a language of its own.
    if (event.event === "error") return frameText(event, JSON.stringify(toWireRunError(event.data, language()))) + end;
    const frame = sharedFrame(event);
    return frame.length >= encodedFrom ? encode(event, frame, end) : frame + end;
  };
}

/** The characters of an event's frame without its id, 0 for one the reader does not want; rendered once for all. */
export function frameLength(event: RunEvent, wanted: Pick<FrameOptions, "modes" | "namespaces">): number {
  return isWanted(event, wanted) ? sharedFrame(event).length : 0;
}

/** Tells a reader which ids the log does not hold. It has no id of its own: it is no event of the run. */
export function gapFrame({ from, to }: { from: number; to: number }): string {
  return `event: gap\ndata: ${JSON.stringify({ from, to })}\n\n`;
}

/** The mode an event belongs to, or `undefined` for those every reader gets. */
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
 * The names under a key of the query; `undefined` without one. Several come by commas, as a repeated key (SDK 1.15), or
 * as a JSON array (SDK 2.0.0, which writes every value that is no text so).
 */
export function namesInQuery(context: HttpContext, key: string): string[] | undefined {
  const names = (context.req.queries(key) ?? []).flatMap(namesIn).filter((name) => name !== "");
  return names.length === 0 ? undefined : names;
}

/** The names in the query's `stream_mode`; `undefined` without one. */
export function namedModes(context: HttpContext): string[] | undefined {
  return namesInQuery(context, "stream_mode");
}

/** The known ones of the modes in the query: who names only others gets no data, who names none (`undefined`) gets all. */
export function knownModes(context: HttpContext): StreamMode[] | undefined {
  const names = namedModes(context);
  return names && streamModes.filter((mode) => names.includes(mode));
}

/** The paths of subgraphs in the query's `namespace`, where the root is the empty one; `undefined` without any. */
export function namespacesInQuery(context: HttpContext): string[] | undefined {
  return context.req.queries("namespace")?.flatMap((text) => (text.startsWith("[") ? namesIn(text) : [text]));
}

function namesIn(text: string): string[] {
  if (!text.startsWith("[")) return text.split(",");
  try {
    return Names.safeParse(JSON.parse(text)).data ?? [text];
  } catch {
    // No array after all: a mode that nobody knows.
    return [text];
  }
}
