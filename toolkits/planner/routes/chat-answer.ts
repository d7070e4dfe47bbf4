import { z } from "zod";
import { AppError, errorCodes } from "@millrace/engine/errors/errors";
import type { RunEvent } from "@millrace/engine/run-events";
import { createChatReader, type ChatItem } from "./chat-items.ts";
import type { HttpContext } from "@millrace/engine/http/environment";
import { languageOf } from "@millrace/engine/http/responses/wire";

/** An answer's usage in tokens. */
export const ChatUsage = z
  .object({
    prompt_tokens: z.number().int(),
    completion_tokens: z.number().int(),
    total_tokens: z.number().int(),
    cached_tokens: z.number().int(),
  })
  .describe("Of all calls of the model for this answer");
type ChatUsage = z.infer<typeof ChatUsage>;

/** An event of the run, or at its end the open questions and the end marker. */
export type ChatEvent = { event: RunEvent } | { last: ChatItem[] };

/** The awaited answer. */
export interface AwaitedAnswer {
  /** Opens the run's events, to its end; the signal aborts when the client disconnects. */
  events: (signal: AbortSignal) => AsyncIterable<ChatEvent[]>;
  /** Called if the client disconnects before the answer, even before this started. */
  onDisconnect?: () => void;
}

/**
 * The text of an answer and its usage, collected from the stream; `undefined` if the client disconnected. Throws the
 * run's error.
 */
export async function wholeAnswer(
  context: HttpContext,
  { events, onDisconnect }: AwaitedAnswer,
): Promise<{ reply: string; usage: ChatUsage } | undefined> {
  const { outgoing } = context.env;
  const gone = new AbortController();
  const onClose = (): void => {
    gone.abort();
    onDisconnect?.();
  };
  outgoing.once("close", onClose);
  // The client disconnected while the run was being started, before the handler was set.
  if (outgoing.destroyed) onClose();
  const read = createChatReader(languageOf(context));
  const usage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0, cached_tokens: 0 };
  let reply = "";
  const take = (item: ChatItem | undefined): void => {
    if (item?.type === "text") reply += item.content;
    if (item?.type === "error") throw failureOf(item);
  };
  try {
    for await (const batch of events(gone.signal)) {
      for (const item of batch) {
        if ("last" in item) item.last.forEach(take);
        else {
          take(read(item.event));
          countUsage(usage, item.event);
        }
      }
    }
  } catch (error) {
    if (gone.signal.aborted) return undefined;
    throw error;
  } finally {
    outgoing.off("close", onClose);
  }
  return gone.signal.aborted ? undefined : { reply: reply.trim(), usage };
}

const TokensUsed = z.object({
  type: z.literal("token_usage"),
  input_tokens: z.number(),
  output_tokens: z.number(),
  total_tokens: z.number(),
  cached_tokens: z.number(),
});

function countUsage(usage: ChatUsage, event: RunEvent): void {
  const used = event.event === "custom" ? TokensUsed.safeParse(event.data).data : undefined;
  if (used === undefined) return;
  usage.prompt_tokens += used.input_tokens;
  usage.completion_tokens += used.output_tokens;
  usage.total_tokens += used.total_tokens;
  usage.cached_tokens += used.cached_tokens;
}

/** Turns a run's failure into an HTTP error by its type. */
function failureOf({ errorType, message, suggestion }: Extract<ChatItem, { type: "error" }>): AppError {
  const code = errorCodes.find((known) => known === errorType) ?? "server";
  return new AppError(code, message, { suggestion });
}
