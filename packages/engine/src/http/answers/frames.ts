import type { AIMessageChunk } from "@langchain/core/messages";
import { isAIMessageChunk, isBaseMessage } from "../../message-kinds.ts";
import type { Language } from "../../language.ts";
import type { RunEvent, StreamMode } from "../../run-events.ts";
import { toWireRunError } from "../errors.ts";
import { Renderings } from "./renderings.ts";
import { toWireJson } from "./wire.ts";

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
  /** In which a failed run is explained. Default English. */
  language?: Language;
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
  const { language = "en" } = options;
  // Each reader is told in a language of its own.
  const frameOf = (event: RunEvent): string =>
    event.event === "error"
      ? frameText(event, JSON.stringify(toWireRunError(event.data, language)))
      : sharedFrame(event);
  return (event) => {
    if (!isWanted(event, options)) return "";
    const partial = event.event === "messages/partial" ? addUp(soFar, event.data) : undefined;
    if (event.event === "messages/complete") forget(soFar, event.data);
    if (event.id <= after) return "";
    const frame = partial === undefined ? frameOf(event) : frameText(event, `[${toWireJson(partial)}]`);
    const end = options.ids ? `id: ${options.idPrefix ?? ""}${event.id}\n\n` : "\n";
    const isShared = event.event !== "error" && partial === undefined;
    return isShared && frame.length >= encodedFrom ? encode(event, frame, end) : frame + end;
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
  const mode = modeOf(event);
  return mode === undefined || modes === undefined || modes.includes(mode);
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
    frame = frameText(event, dataText(event));
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

function dataText(event: RunEvent): string {
  return event.event === "messages"
    ? `[${toWireJson(event.data)},${metadataText(event.metadata)}]`
    : toWireJson(event.data);
}

function metadataText(metadata: Record<string, unknown>): string {
  let text = renderedMetadata.get(metadata);
  if (text === undefined) {
    text = toWireJson(metadata);
    renderedMetadata.set(metadata, text);
  }
  return text;
}
