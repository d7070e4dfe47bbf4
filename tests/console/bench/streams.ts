import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { z } from "zod";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import type { Figure } from "../../bench/figures.ts";
import { percentile } from "../../bench/servers/load.ts";
import { frameFigures, watchFrames } from "./frames.ts";

/** A question like no other one, by which its answer is distinguished from those before it. */
const asking = /Go on, question [0-9]+/gu;

/** A model that waits with its first word until it is released, or says many at a steady pace. */
export class PacedModel {
  #words = 1;
  #questions = 0;
  #delayMs = 0;
  #gate: (PromiseWithResolvers<void> & { text: string }) | undefined;
  #asked = Promise.withResolvers<void>();

  /** The next answers are so many words, with a pause before each. */
  speak(words: number, delayMs: number): void {
    this.#words = words;
    this.#delayMs = delayMs;
  }

  /** A new question, whose answer begins with it and a full stop. */
  question(): string {
    this.#questions += 1;
    return `Go on, question ${this.#questions}`;
  }

  answer(request: ModelRequest): ModelStep {
    this.#asked.resolve();
    if (this.#gate !== undefined) return { text: this.#gate.text, hold: { after: 0, until: this.#gate.promise } };
    const words = Array.from({ length: this.#words }, (_, index) => `word${index} `);
    const question = request.raw.match(asking)?.at(-1);
    if (question !== undefined) words.unshift(`${question}. `);
    return { chunks: words, delayMs: this.#delayMs };
  }

  /** The next answers are a text, and wait until they are let go. */
  close(text: string): Gate {
    const gate = (this.#gate = { ...Promise.withResolvers<void>(), text });
    const asked = (this.#asked = Promise.withResolvers<void>());
    const release = (): void => {
      this.#gate = undefined;
      gate.resolve();
    };
    return { asked: asked.promise, release };
  }
}

/** Holds the answers of a model back. */
interface Gate {
  /** The model has been asked. */
  asked: Promise<void>;
  release: () => void;
}

/** Milliseconds that a model takes for its first word. */
const thinking = 500;

async function say(page: Page, url: string): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.locator(".composer-field").fill("Hello");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/console\/t\//u);
}

/** Lets the model go; gives the milliseconds until its answer stands on the page. */
async function wordsAfter(page: Page, answer: string, release: () => void): Promise<number> {
  const shown = page.evaluate(`new Promise((resolve) => {
    const look = () => {
      if (!document.querySelector(".conversation")?.textContent.includes("${answer}")) return;
      observer.disconnect();
      resolve(Date.now());
    };
    const observer = new MutationObserver(look);
    observer.observe(document.body, { subtree: true, childList: true, characterData: true });
    // On a busy machine the words may be there before it looks.
    look();
  })`);
  const begun = Date.now();
  release();
  const took = Number(await shown) - begun;
  await page.locator(".stop-button").waitFor({ state: "detached" });
  return took;
}

/** G6: how soon words stand on the page after the model's server was let go, in a chat that is open and in a new one. */
export async function measureFirstWords(
  browser: Browser,
  url: string,
  model: PacedModel,
  times: number,
): Promise<Figure[]> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const [begun, open]: [number[], number[]] = [[], []];
    for (let time = 0; time < times; time += 1) {
      const { asked, release } = model.close(`answered ${time}.`);
      await say(page, url);
      await page.locator(".stop-button").waitFor();
      await asked;
      begun.push(await wordsAfter(page, `answered ${time}.`, release));
    }
    for (let time = 0; time < times; time += 1) {
      const { asked, release } = model.close(`again ${time}.`);
      await page.locator(".composer-field").fill("Again");
      await page.keyboard.press("Enter");
      await asked;
      await delay(thinking);
      open.push(await wordsAfter(page, `again ${time}.`, release));
    }
    const measure = "G6 first words after the model said them";
    return [
      {
        measure: `${measure}, in a chat that is open, p95`,
        value: percentile(open, 95),
        unit: "ms",
        max: 50,
        note: "let go half a second after it was asked",
      },
      {
        measure: `${measure}, while a new chat is drawn, p95`,
        value: percentile(begun, 95),
        unit: "ms",
        max: 150,
        note: "let go with the first frame of the chat",
      },
    ];
  } finally {
    await context.close();
  }
}

/** G6 and G7: an answer of a hundred words a second, and keys that are pressed meanwhile. */
export async function measureFrames(browser: Browser, url: string): Promise<Figure[]> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await say(page, url);
    // On a busy machine the answer may be over as soon as it is drawn.
    await page.locator(".conversation").getByText("word5 ").waitFor();
    await page.evaluate(`(() => {
      window.keys_ = [];
      const field = document.querySelector(".composer-field");
      field.addEventListener("input", (event) => {
        const pressed = event.timeStamp;
        requestAnimationFrame(() => window.keys_.push(performance.now() - pressed));
      });
    })()`);
    await watchFrames(page);
    await page.locator(".composer-field").focus();
    await page.keyboard.type("typed while it comes", { delay: 30 });
    await page.locator(".stop-button").waitFor({ state: "detached", timeout: 120_000 });
    const frames = await frameFigures(page, "G7 100 words a second", { p95: 20, long: 0 });
    const keys = z.array(z.number()).parse(await page.evaluate("window.keys_"));
    return [
      ...frames,
      { measure: "G6 key to character meanwhile, p95", value: percentile(keys, 95), unit: "ms", max: 16 },
    ];
  } finally {
    await context.close();
  }
}
