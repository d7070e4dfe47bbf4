import type { Browser, CDPSession, Page } from "playwright-core";
import type { Figure } from "../../bench/figures.ts";
import { frameFigures, metricOf, watchFrames } from "./frames.ts";
import type { PacedModel } from "./streams.ts";
import { importThread } from "./threads.ts";

/** Asks in the thread that is open; waits until its answer has begun, which may be over by then on a busy machine. */
async function ask(page: Page, model: PacedModel): Promise<void> {
  const question = model.question();
  await page.locator(".composer-field").fill(question);
  await page.keyboard.press("Enter");
  await page.locator(".conversation-item").last().getByText(`${question}. word0`).waitFor();
}

async function ended(page: Page): Promise<void> {
  await page.locator(".stop-button").waitFor({ state: "detached", timeout: 300_000 });
}

async function openThread(page: Page, url: string, thread: string): Promise<void> {
  await page.goto(`${url}/console/t/${thread}`);
  await page.locator(".conversation-item").first().waitFor();
}

/** G7: an answer of a thousand words a second. */
export async function measureFastAnswer(
  browser: Browser,
  url: string,
  model: PacedModel,
  words: number,
): Promise<Figure[]> {
  const thread = await importThread(url, 2, "fast");
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await openThread(page, url, thread);
    model.speak(words, 1);
    const begun = performance.now();
    await ask(page, model);
    await watchFrames(page);
    await ended(page);
    const pace = Math.round(words / ((performance.now() - begun) / 1_000));
    const [p95] = await frameFigures(page, "G7 1,000 words a second", { p95: 33, long: 0 });
    return p95 === undefined ? [] : [{ ...p95, note: `${pace} a second came, drawn without a GPU` }];
  } finally {
    await context.close();
  }
}

/** Milliseconds of the page's main thread that a word takes while an answer comes. */
async function costOfWord(page: Page, devtools: CDPSession, model: PacedModel, words: number): Promise<number> {
  await ask(page, model);
  const before = await metricOf(devtools, "ThreadTime");
  await ended(page);
  return ((await metricOf(devtools, "ThreadTime")) - before) * (1_000 / words);
}

/** G7: what a word of an answer costs in a long thread, against a short one. */
export async function measureCostByLength(
  browser: Browser,
  url: string,
  model: PacedModel,
  { messages, words }: { messages: number; words: number },
): Promise<Figure[]> {
  const threads = [await importThread(url, 10, "cost"), await importThread(url, messages, "costs")];
  model.speak(words, 10);
  const costs: number[] = [];
  for (const thread of threads) {
    const context = await browser.newContext();
    try {
      const page = await context.newPage();
      const devtools = await context.newCDPSession(page);
      await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
      await openThread(page, url, thread);
      // What comes first is compiled then.
      const found = [await costOfWord(page, devtools, model, words), await costOfWord(page, devtools, model, words)];
      costs.push(Math.min(...found));
    } finally {
      await context.close();
    }
  }
  const [short = Number.NaN, long = Number.NaN] = costs;
  const note = `${short.toFixed(2)} ms of CPU with 10 messages, ${long.toFixed(2)} with ${messages}`;
  return [{ measure: "G7 cost of a word, long to short thread", value: long / short, unit: "x", max: 1.2, note }];
}

/** G15: what a tab holds in which many words came, one answer after the other. */
export async function measureHeapOfAnswers(
  browser: Browser,
  url: string,
  model: PacedModel,
  { answers, words }: { answers: number; words: number },
): Promise<Figure[]> {
  const thread = await importThread(url, 2, "heap");
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Performance.enable");
    await openThread(page, url, thread);
    model.speak(words, 1);
    for (let answer = 0; answer < answers; answer += 1) {
      await ask(page, model);
      await ended(page);
    }
    await devtools.send("HeapProfiler.collectGarbage");
    const value = (await metricOf(devtools, "JSHeapUsedSize")) / 1e6;
    return [{ measure: `G15 heap after ${answers * words} words of answers`, value, unit: "MB", max: 150 }];
  } finally {
    await context.close();
  }
}
