import { Worker } from "node:worker_threads";
import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { breathing } from "@millrace/engine/concurrency/abort";
import { errorMessage } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { countImagePart } from "./image-tokens.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countText, weighMessage } from "./tokens.ts";

/** The tokens of a text: counted with the encoding `cl100k_base`, or estimated where it could not be loaded. */
export interface CountedText {
  tokens: number;
  method: "exact" | "estimate";
}

/** Counts texts exactly, in a thread of its own: however long they are, the event loop goes on. */
export interface TokenCounter {
  /** Rejects with the signal's reason when it is aborted; never fails else. */
  count(text: string, signal: AbortSignal): Promise<CountedText>;
  close(): Promise<void>;
}

/** The thread needs some 100 MB, so it ends after this many milliseconds without use. */
const idleMilliseconds = 60_000;

/** The worker's file: beside this one, with the ending that this one has in the sources or in a bundle. */
const workerFile = new URL(
  import.meta.url.endsWith(".ts") ? "./count-worker.ts" : "./count-worker.js",
  import.meta.url,
);

const Answer = z.object({ id: z.number(), tokens: z.number() });

interface Waiting {
  text: string;
  done: (counted: CountedText) => void;
}

/**
 * Opens a counter. The thread begins with the first text. Where it cannot, one warning is logged and everything is
 * estimated from then on.
 */
export function createTokenCounter(logger: Pick<Logger, "warn">, file: URL = workerFile): TokenCounter {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let isLost = false;
  let idle: NodeJS.Timeout | undefined;
  let last = 0;

  function begin(): Worker {
    clearTimeout(idle);
    if (worker !== undefined) return worker;
    const begun = new Worker(file);
    begun.on("message", (message) => {
      const { id, tokens } = Answer.parse(message);
      settle(id, { tokens, method: "exact" });
    });
    begun.on("error", (error) => {
      isLost = true;
      worker = undefined;
      logger.warn({ reason: errorMessage(error) }, "tokens_are_estimated");
      for (const [id, { text }] of waiting) settle(id, { tokens: countText(text), method: "estimate" });
    });
    worker = begun;
    return begun;
  }

  function settle(id: number, counted: CountedText): void {
    waiting.get(id)?.done(counted);
    waiting.delete(id);
    if (waiting.size > 0) return;
    // A thread that waits for work keeps no process alive.
    worker?.unref();
    clearTimeout(idle);
    idle = setTimeout(() => void end(), idleMilliseconds).unref();
  }

  async function end(): Promise<void> {
    clearTimeout(idle);
    const ended = worker;
    worker = undefined;
    for (const [id, { text }] of waiting) settle(id, { tokens: countText(text), method: "estimate" });
    clearTimeout(idle);
    await ended?.terminate();
  }

  return {
    async count(text, signal) {
      signal.throwIfAborted();
      if (isLost) return { tokens: countText(text), method: "estimate" };
      const { promise, resolve, reject } = Promise.withResolvers<CountedText>();
      const id = (last += 1);
      const stop = (): void => reject(signal.reason);
      signal.addEventListener("abort", stop, { once: true });
      waiting.set(id, { text, done: resolve });
      const thread = begin();
      thread.ref();
      thread.postMessage({ id, text });
      try {
        return await promise;
      } finally {
        signal.removeEventListener("abort", stop);
      }
    },
    close: end,
  };
}

/**
 * Tokens of a list of messages with their overhead, their texts counted exactly; images cost by their size. The method
 * is an estimate where one of the texts could only be estimated.
 */
export async function countMessagesExactly(
  messages: readonly BaseMessage[],
  counter: Pick<TokenCounter, "count">,
  signal: AbortSignal,
): Promise<CountedText> {
  const texts: string[] = [];
  const breathe = breathing(signal);
  let tokens = 0;
  for (const message of messages) {
    await breathe();
    const { overhead, images } = weighMessage(message);
    tokens += overhead + images;
    texts.push(...textsOf(message));
  }
  const counted = await Promise.all(texts.filter((text) => text !== "").map((text) => counter.count(text, signal)));
  for (const text of counted) tokens += text.tokens;
  return { tokens, method: counted.some(({ method }) => method === "estimate") ? "estimate" : "exact" };
}

/** Everything in a message that costs by its length. */
function textsOf(message: BaseMessage): string[] {
  const { content, additional_kwargs } = message;
  const parts = typeof content === "string" ? content : content.filter((part) => countImagePart(part) === undefined);
  const reasoning = additional_kwargs["reasoning_content"];
  const calls = isAIMessage(message) ? (message.tool_calls ?? []) : [];
  return [
    textOf(parts),
    ...(typeof reasoning === "string" ? [reasoning] : []),
    ...calls.map(({ name, args }) => name + JSON.stringify(args)),
  ];
}
