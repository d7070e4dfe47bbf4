import { setTimeout as delay } from "node:timers/promises";
import { startModelServer } from "@millrace/testing/model-server";
import type { Section } from "../../bench/figures.ts";
import { startMillrace } from "../../bench/servers/servers.ts";
import { findChromium, launchChromium } from "../../support/pages/browser-page.ts";
import { measureBuild, measureLoads } from "./build-and-loads.ts";
import { measureFrames, measureFirstWords, PacedModel } from "./streams.ts";
import { measureDrawings, measureTrace } from "./large-runs.ts";
import { measureCostByLength, measureFastAnswer, measureHeapOfAnswers } from "./long-answers.ts";
import { measureLongThread, measureTabs } from "./threads.ts";

/** How much is measured. */
export interface ConsoleAmounts {
  /** Loads, answers and changes of which the figures are percentiles. */
  times: number;
  /** Messages of the long thread. */
  messages: number;
  /** Frames in which it is scrolled. */
  frames: number;
  /** Changes between two threads after which the heap is looked at. */
  changes: number;
  /** Words of the long answer, of which there are a hundred a second. */
  words: number;
  /** Parts of the long run. */
  spans: number;
  /** Nodes of the large graph. */
  nodes: number;
  /** Milliseconds in which a tab at rest is watched. */
  rest: number;
}

/**
 * What the console takes: its build and its size, and in a browser its first view, a long thread, an answer that comes, a
 * long run, and a tab at rest. What needs no figure (screens, keys, losses, hostile texts, graphs) is held by its tests.
 */
export async function measureConsole(amounts: ConsoleAmounts): Promise<Section> {
  const { times, messages, words, spans, nodes, rest } = amounts;
  const figures = await measureBuild();
  const executablePath = findChromium();
  const title = `Console, ${messages} messages${executablePath === undefined ? "; without Chromium only its build" : ""}`;
  if (executablePath === undefined) return { title, figures };
  const paced = new PacedModel();
  const model = await startModelServer({ handler: (request) => paced.answer(request), record: false });
  const server = await startMillrace(model.url);
  const browser = await launchChromium(executablePath);
  try {
    const { url } = server;
    await ready(`${url}/console/`);
    figures.push(...(await measureLoads(browser, url, times)));
    figures.push(...(await measureLongThread(browser, url, amounts)));
    figures.push(...(await measureFirstWords(browser, url, paced, times)));
    paced.speak(words, 10);
    figures.push(...(await measureFrames(browser, url)));
    figures.push(...(await measureFastAnswer(browser, url, paced, words)));
    figures.push(...(await measureCostByLength(browser, url, paced, { messages, words: words / 2 })));
    figures.push(...(await measureHeapOfAnswers(browser, url, paced, { answers: times, words })));
    figures.push(...(await measureTrace(browser, url, spans)));
    figures.push(...(await measureDrawings(browser, url, nodes)));
    figures.push(...(await measureTabs(browser, url, { times, rest })));
    return { title, figures };
  } finally {
    await browser.close();
    await server.stop();
    await model.close();
  }
}

/** Waits until the page is served: the server builds it with its first request. */
async function ready(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url);
    await response.arrayBuffer();
    if (response.ok) return;
    await delay(100);
  }
}
