import { z } from "zod";
import { readSse, type SseEnd } from "@millrace/testing/sse-client";

const Piece = z.tuple([
  z.looseObject({
    type: z.string(),
    id: z.string().nullish(),
    content: z.string(),
    additional_kwargs: z.looseObject({ reasoning_content: z.string().optional() }).optional(),
    tool_call_chunks: z.array(z.looseObject({ args: z.string().nullish() })).optional(),
  }),
  z.unknown(),
]);
const Custom = z.looseObject({ type: z.string() });

/** A message as far as a reader has received it. */
export interface ReceivedMessage {
  content: string;
  reasoning: string;
  /** The text of the arguments of its calls. */
  args: string;
}

/** What one reader of a run has received. */
export interface RunStream {
  /** The streamed pieces, added up by message id, in the order in which the messages began. */
  readonly messages: Map<string, ReceivedMessage>;
  readonly custom: z.infer<typeof Custom>[];
  /** How the stream ended. */
  readonly over: Promise<SseEnd>;
}

/** Reads a run's stream over a connection of its own until it ends or the signal is aborted. */
export function readRunStream(url: string, signal: AbortSignal): RunStream {
  const messages: RunStream["messages"] = new Map();
  const custom: RunStream["custom"] = [];
  const over = readSse({
    url,
    signal,
    onEvent({ event, data }) {
      if (/^custom(\||$)/u.test(event)) custom.push(Custom.parse(JSON.parse(data)));
      if (!/^messages(\||$)/u.test(event)) return;
      const [piece] = Piece.parse(JSON.parse(data));
      if (piece.type !== "ai") return;
      const id = piece.id ?? "";
      const message = messages.get(id) ?? { content: "", reasoning: "", args: "" };
      message.content += piece.content;
      message.reasoning += piece.additional_kwargs?.reasoning_content ?? "";
      message.args += (piece.tool_call_chunks ?? []).map(({ args }) => args ?? "").join("");
      messages.set(id, message);
    },
  });
  return { messages, custom, over };
}
