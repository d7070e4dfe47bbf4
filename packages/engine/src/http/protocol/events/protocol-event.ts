import { Renderings } from "../../answers/renderings.ts";
import { toWireJson } from "../../answers/wire.ts";

/** What a run tells on one of the protocol's channels, before it has its place in the thread's record. */
export interface ProtocolBody {
  /** The channel's name, or `input.requested` and `input.answered` of the channel `input`. */
  method: string;
  /** The path of graphs and tasks (`node:task`), empty at the root. */
  namespace: string[];
  /** The node that told it, where the channel says so. */
  node?: string | undefined;
  data: unknown;
}

/**
 * An event of the protocol. `seq` grows along the whole thread; `timestamp` is in milliseconds. What no run has told
 * has no place.
 */
export interface ProtocolEvent extends ProtocolBody {
  /** `<run id>:<seq>`; the SDK reads the run of a `lifecycle` event off its id, which begins with `synth:`. */
  event_id?: string;
  seq?: number;
  timestamp: number;
}

/** A state is the same object for all readers of its run. */
const renderedData = new Renderings<string>();

/** The event as JSON, as it goes out on either transport. */
export function protocolText({ event_id, seq, method, namespace, timestamp, node, data }: ProtocolEvent): string {
  const head = JSON.stringify({ type: "event", event_id, seq, method });
  const place = JSON.stringify({ namespace, timestamp, ...(node === undefined ? {} : { node }) });
  return `${head.slice(0, -1)},"params":${place.slice(0, -1)},"data":${dataText(method, data)}}}`;
}

/** The event as a server-sent event. */
export function protocolFrame(event: ProtocolEvent): string {
  const id = event.event_id === undefined ? "" : `id: ${event.event_id}\n`;
  return `event: ${event.method}\n${id}data: ${protocolText(event)}\n\n`;
}

function dataText(method: string, data: unknown): string {
  if ((method !== "values" && method !== "updates") || typeof data !== "object" || data === null) {
    return toWireJson(data);
  }
  const known = renderedData.get(data);
  if (known !== undefined) return known;
  const text = toWireJson(data);
  renderedData.set(data, text, text.length);
  return text;
}
