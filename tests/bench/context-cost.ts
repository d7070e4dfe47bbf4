import { randomBytes } from "node:crypto";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { createTokenCounter, type TokenCounter } from "../../src/context/token-counter.ts";
import { createLogger } from "../../src/logger.ts";
import type { Figure, Section } from "./figures.ts";

const megabyte = 1_000_000;

/** One megabyte (in characters) of different kinds of text; the first word of all loads the encoding. */
const texts: readonly { name: string; text: string }[] = [
  { name: "a first word", text: "word" },
  { name: "1 MB of English", text: repeated("The quick brown fox, 42 jumps! over lazy dogs.\n") },
  { name: "1 MB of Chinese", text: repeated("人工智能正在改变我们的生活方式，以及工作的每一个方面。") },
  { name: "1 MB of base64", text: randomBytes((megabyte * 3) / 4).toString("base64") },
];

function repeated(text: string): string {
  return text.repeat(Math.ceil(megabyte / text.length)).slice(0, megabyte);
}

/** What counting long texts does to the event loop. */
export async function measureContext(): Promise<Section> {
  const counter = createTokenCounter(createLogger("silent"));
  try {
    const figures: Figure[] = [];
    for (const { name, text } of texts) {
      const tries: Figure[] = [];
      for (let round = 0; round < 3; round += 1) {
        // Without its thread the counter has to load again.
        if (text.length < megabyte) await counter.close();
        tries.push(await stallOf(counter, name, text));
      }
      // What else runs on the machine can only add to a stall.
      figures.push(...tries.toSorted((left, right) => left.value - right.value).slice(0, 1));
    }
    return { title: "What the model sees", figures };
  } finally {
    await counter.close();
  }
}

async function stallOf(counter: TokenCounter, name: string, text: string): Promise<Figure> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const begin = performance.now();
  const { tokens } = await counter.count(text, new AbortController().signal);
  const took = performance.now() - begin;
  // A stall is noticed by the timer after it.
  await wait(20);
  delays.disable();
  const note = `${tokens} tokens in ${took.toFixed(0)} ms`;
  return { measure: `counting ${name}, longest stall, best of 3`, value: delays.max / 1e6, unit: "ms", max: 20, note };
}
