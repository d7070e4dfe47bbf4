import type { JsonObject, Run } from "../../../storage/records.ts";
import type { TurnEvent } from "../turn/follow-turn.ts";
import { toResponse, type StoredRequest, type ResponseObject } from "./response-shape.ts";
import type { ClientCall } from "../turn/turn-reader.ts";

/** One event of a response's stream. */
type ResponseEvent = JsonObject & { type: string };

/** An output item in progress. */
interface OpenItem {
  kind: "text" | "reasoning";
  /** The id of its message. */
  of: string;
  id: string;
  index: number;
  text: string;
}

/**
 * Turns a turn into the events of OpenAI's stream. They are numbered, and the same turn always gives the same ones, so
 * a client can resume after the last number it has.
 */
export class ResponseEvents {
  readonly #run: Run;
  readonly #kept: StoredRequest;
  readonly #output: { of: string; item: JsonObject; isLost: boolean }[] = [];
  #number = 0;
  #open: OpenItem | undefined;
  #response: ResponseObject;

  constructor(run: Run, kept: StoredRequest) {
    this.#run = run;
    this.#kept = kept;
    this.#response = toResponse({ ...run, status: "running" }, kept, []);
  }

  /** The response so far. */
  get response(): ResponseObject {
    return this.#response;
  }

  /** The first events of a stream. */
  begin(): ResponseEvent[] {
    const response = this.#response;
    return this.#numbered([
      { type: "response.created", response },
      { type: "response.in_progress", response },
    ]);
  }

  /** The events for one piece of the turn, or for its end. */
  read(event: TurnEvent): ResponseEvent[] {
    if (!("end" in event)) {
      const { item } = event;
      return this.#numbered(item.type === "lost" ? this.#lose(item.id) : this.#say(item.type, item.id, item.text));
    }
    const { end, run, question } = event;
    const questionEvents = question === "" ? [] : this.#say("text", "question", question);
    const last = [...questionEvents, ...this.#close(), ...end.calls.flatMap((call) => this.#call(call))];
    const output = this.#output.filter(({ isLost }) => !isLost).map(({ item }) => item);
    this.#response = toResponse(run, this.#kept, output, end);
    const { status } = this.#response;
    // There is no event for a cancelled response.
    const type = status === "completed" || status === "failed" ? `response.${status}` : "response.incomplete";
    return this.#numbered([...last, { type, response: this.#response }]);
  }

  #numbered(events: ResponseEvent[]): ResponseEvent[] {
    return events.map((event) => ({ ...event, sequence_number: this.#number++ }));
  }

  #say(kind: OpenItem["kind"], of: string, text: string): ResponseEvent[] {
    const isSame = this.#open?.kind === kind && this.#open.of === of;
    const before = isSame ? [] : [...this.#close(), ...this.#begin(kind, of)];
    const item = this.#open;
    if (item === undefined) return before;
    item.text += text;
    const place = placeOf(item);
    const delta: ResponseEvent =
      kind === "text"
        ? { type: "response.output_text.delta", ...place, delta: text, logprobs: [] }
        : { type: "response.reasoning_summary_text.delta", ...place, delta: text };
    return [...before, delta];
  }

  #begin(kind: OpenItem["kind"], of: string): ResponseEvent[] {
    const index = this.#output.length;
    const item = { kind, of, id: this.#itemId(kind === "text" ? "msg" : "rs", index), index, text: "" };
    this.#open = item;
    const added = { type: "response.output_item.added", output_index: index, item: itemOf(item, "in_progress") };
    const type = kind === "text" ? "response.content_part.added" : "response.reasoning_summary_part.added";
    return [added, { type, ...placeOf(item), part: partOf(item) }];
  }

  /** What was said of a message stays in the stream, and is not in the response. */
  #lose(of: string): ResponseEvent[] {
    const events = this.#open?.of === of ? this.#close("incomplete") : [];
    for (const said of this.#output) if (said.of === of) said.isLost = true;
    return events;
  }

  #close(status: "completed" | "incomplete" = "completed"): ResponseEvent[] {
    const item = this.#open;
    if (item === undefined) return [];
    this.#open = undefined;
    const whole = itemOf(item, status);
    this.#output.push({ of: item.of, item: whole, isLost: false });
    const place = placeOf(item);
    const [text, part]: [ResponseEvent, ResponseEvent] =
      item.kind === "text"
        ? [
            { type: "response.output_text.done", ...place, text: item.text, logprobs: [] },
            { type: "response.content_part.done", ...place, part: partOf(item) },
          ]
        : [
            { type: "response.reasoning_summary_text.done", ...place, text: item.text },
            { type: "response.reasoning_summary_part.done", ...place, part: partOf(item) },
          ];
    return [text, part, { type: "response.output_item.done", output_index: item.index, item: whole }];
  }

  #call({ id: call_id, name, args }: ClientCall): ResponseEvent[] {
    const output_index = this.#output.length;
    const item_id = this.#itemId("fc", output_index);
    const item = { id: item_id, type: "function_call", call_id, name };
    const whole = { ...item, arguments: args, status: "completed" };
    this.#output.push({ of: call_id, item: whole, isLost: false });
    const place = { item_id, output_index };
    return [
      { type: "response.output_item.added", output_index, item: { ...item, arguments: "", status: "in_progress" } },
      { type: "response.function_call_arguments.delta", ...place, delta: args },
      { type: "response.function_call_arguments.done", ...place, name, arguments: args },
      { type: "response.output_item.done", output_index, item: whole },
    ];
  }

  #itemId(prefix: string, index: number): string {
    return `${prefix}_${this.#run.run_id}_${index}`;
  }
}

function placeOf({ kind, id, index }: OpenItem): JsonObject {
  return { item_id: id, output_index: index, [kind === "text" ? "content_index" : "summary_index"]: 0 };
}

function partOf({ kind, text }: OpenItem): JsonObject {
  return kind === "text"
    ? { type: "output_text", text, annotations: [], logprobs: [] }
    : { type: "summary_text", text };
}

function itemOf(item: OpenItem, status: "in_progress" | "completed" | "incomplete"): JsonObject {
  const parts = item.text === "" ? [] : [partOf(item)];
  return item.kind === "text"
    ? { id: item.id, type: "message", status, role: "assistant", content: parts }
    : { id: item.id, type: "reasoning", summary: parts };
}

/** An event as a server-sent event. */
export function responseFrame(event: ResponseEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
