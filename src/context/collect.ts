import { errorMessage } from "@millrace/engine/errors/errors";
import type { ContextLayer } from "../prompts/injector.ts";
import { unlessAborted } from "@millrace/engine/concurrency/abort";
import { assembleContext } from "./assembler.ts";
import type { CollectionContext, Collector } from "./collector.ts";
import { layer } from "./layers.ts";

/** Time limit of a collector in milliseconds. */
const collectorTime = 2000;

/** How to collect. `onProblem` gets the sources that failed or were too slow. */
export interface CollectOptions {
  signal: AbortSignal | undefined;
  /** Tokens for all sections together. */
  budget: number;
  onProblem: (collector: string, reason: string) => void;
  /** Milliseconds for each collector; default 2 s. */
  time?: number;
}

/**
 * Runs all collectors in parallel and returns their sections by priority, within the budget. One that fails or takes too
 * long is left out and reported; an abort ends all of them.
 */
export async function collectContext(
  collectors: readonly Collector[],
  context: CollectionContext,
  { signal, budget, onProblem, time = collectorTime }: CollectOptions,
): Promise<ContextLayer[]> {
  const inOrder = collectors.toSorted((left, right) => left.priority - right.priority);
  const found = await Promise.all(
    inOrder.map(async (collector) => {
      const limit = AbortSignal.timeout(time);
      const ends = signal === undefined ? limit : AbortSignal.any([signal, limit]);
      const warn = (reason: string): void => onProblem(collector.name, reason);
      try {
        const content = await unlessAborted(collector.collect(context, ends, warn), ends);
        return content === null || content === "" ? [] : [{ collector, content }];
      } catch (error) {
        signal?.throwIfAborted();
        warn(limit.aborted ? `it took longer than ${time} ms` : errorMessage(error));
        return [];
      }
    }),
  );
  const gathered = found.flat().map(({ collector, content }) => {
    const { text } = layer(collector.name, collector.title, content);
    return { source: collector.name, content: text, reserved: collector.reserved };
  });
  return assembleContext(gathered, budget).items.map(({ source, content }) => ({ name: source, text: content }));
}
