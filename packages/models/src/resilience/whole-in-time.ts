import type { BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { AppError } from "@millrace/engine/errors/errors";
import { maxCharacters, tooLong } from "./watch-stream.ts";
import { onAbort, unlessAborted } from "@millrace/engine/concurrency/abort";

/**
 * Awaits an unstreamed answer: rejects at once on abort, with `timeout` after `totalMs`, and with `too_large` if it is
 * longer than any real one. Clients apply their time-outs only until the headers.
 */
export async function withTotalTimeout(
  totalMs: number,
  signal: AbortSignal | undefined,
  ask: (signal: AbortSignal) => Promise<ChatResult>,
): Promise<ChatResult> {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(late(totalMs)), totalMs);
  const forget = onAbort(signal, () => stop.abort(signal?.reason));
  try {
    stop.signal.throwIfAborted();
    const result = await unlessAborted(ask(stop.signal), stop.signal);
    if (result.generations.some(({ message }) => lengthOf(message) > maxCharacters)) throw tooLong();
    return result;
  } finally {
    clearTimeout(timer);
    forget();
  }
}

/** The original arguments: the parsed ones may be nested too deeply to serialise. */
function lengthOf({ text, additional_kwargs }: BaseMessage): number {
  const raw = additional_kwargs.tool_calls?.reduce((sum, call) => sum + call.function.arguments.length, 0) ?? 0;
  return text.length + raw;
}

function late(totalMs: number): AppError {
  return new AppError("timeout", `The model gave no whole answer in ${totalMs / 1000} s.`, {
    suggestion:
      "Try again, or allow it more time (total_seconds of the model); a smaller or less busy model may answer faster.",
    recoverable: true,
  });
}
