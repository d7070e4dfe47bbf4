import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { isAppError } from "@millrace/engine/errors/errors";
import { hasContent } from "@millrace/models/resilience/watch-stream";
import type { LoopCall } from "../request.ts";
import type { RunServices } from "../services.ts";

/** How long a model call took: to its end, and to its first words where it was streamed. */
interface CallTimes {
  duration_ms: number;
  first_token_ms: number | null;
}

const taken = new WeakMap<LoopCall, CallTimes>();

/** Keeps what the newest model call of the loop call took. */
export function recordCallTimes(call: LoopCall, { times }: CallClock): void {
  taken.set(call, times);
}

/** How long the newest model call took. */
export function timesOf(call: LoopCall): CallTimes {
  return taken.get(call) ?? { duration_ms: 0, first_token_ms: null };
}

/** Takes the time of a model's requests, one after the other, and counts those that fail. */
export class CallClock {
  readonly #model: string;
  readonly #account: RunServices["account"];
  #begun = 0;
  #first: number | undefined;
  #ended = 0;

  constructor(model: string, account: RunServices["account"]) {
    this.#model = model;
    this.#account = account;
  }

  /** Those of the newest request. */
  get times(): CallTimes {
    const first_token_ms = this.#first === undefined ? null : this.#first - this.#begun;
    return { duration_ms: this.#ended - this.#begun, first_token_ms };
  }

  /** Hears a piece of the answer. */
  recordChunk(chunk: ChatGenerationChunk): void {
    if (this.#first === undefined && hasContent(chunk)) this.#first = performance.now();
  }

  /** Makes a request. One that is stopped by `signal`, or that a paused service has not let through, is no failure. */
  async time<Answer>(signal: AbortSignal | undefined, request: () => Promise<Answer>): Promise<Answer> {
    this.#begun = performance.now();
    this.#first = undefined;
    try {
      return await request();
    } catch (error) {
      const isRefused = isAppError(error) && error.code === "service_paused";
      if (signal?.aborted !== true && !isRefused) await this.#account?.countFailure(this.#model);
      throw error;
    } finally {
      this.#ended = performance.now();
    }
  }
}
