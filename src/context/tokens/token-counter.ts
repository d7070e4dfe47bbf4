import { Worker } from "node:worker_threads";
import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { yieldingCheck } from "@millrace/engine/concurrency/abort";
import { errorMessage } from "@millrace/engine/errors/errors";
import type { Logger } from "@millrace/engine/logger";
import { countImagePart } from "./image-tokens.ts";
import { textOf } from "@millrace/engine/message-kinds";
import { countText, weighMessage } from "./tokens.ts";

/** A token count: exact with `cl100k_base`, or an estimate if the encoding could not be loaded. */
export interface CountedText {
  tokens: number;
  method: "exact" | "estimate";
}

/** Counts tokens in a worker thread, so that long texts do not block the event loop. */
export interface TokenCounter {
  /** Rejects only with the signal's reason. */
  count(text: string, signal: AbortSignal): Promise<CountedText>;
  close(): Promise<void>;
}

/** The thread needs about 100 MB and ends after this idle time. */
const idleMilliseconds = 60_000;

/** The worker's file, in the sources or the bundle. */
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
 * Creates a counter. The thread starts with the first text. If it fails, one warning is logged and all further counts
 * are estimates.
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
    const started = new Worker(file);
    started.on("message", (message) => {
      const { id, tokens } = Answer.parse(message);
      settle(id, { tokens, method: "exact" });
    });
    started.on("error", (error) => {
      isLost = true;
      worker = undefined;
      logger.warn({ reason: errorMessage(error) }, "tokens_are_estimated");
      for (const [id, { text }] of waiting) settle(id, { tokens: countText(text), method: "estimate" });
    });
    worker = started;
    return started;
  }

  function settle(id: number, counted: CountedText): void {
    waiting.get(id)?.done(counted);
    waiting.delete(id);
    if (waiting.size > 0) return;
    // An idle thread must not keep the process alive.
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

/** Tokens of messages with overhead, texts counted exactly, images by size. An estimate if any text was estimated. */
export async function countMessagesExactly(
  messages: readonly BaseMessage[],
  counter: Pick<TokenCounter, "count">,
  signal: AbortSignal,
): Promise<CountedText> {
  const texts: string[] = [];
  const breathe = yieldingCheck(signal);
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

/** All texts of a message. */
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
