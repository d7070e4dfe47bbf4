import { setTimeout as delay } from "node:timers/promises";
import type { Browser, CDPSession, Page } from "playwright-core";
import { z } from "zod";
import type { Figure } from "../../bench/figures.ts";
import { percentile } from "../../bench/servers/load.ts";
import { frameFigures, metricOf, watchFrames, whenDrawn, workOfFrames } from "./frames.ts";

const Made = z.object({ thread_id: z.string() });

/** Makes a thread of so many messages; each is called by its number. */
export async function importThread(url: string, count: number, name: string): Promise<string> {
  const messages = Array.from({ length: count }, (_, index) => ({
    type: index % 2 === 0 ? "human" : "ai",
    id: `${name}-${index}`,
    content: `Message ${index}: **some** words, \`code\` and a list\n\n- one\n- two`,
  }));
  const response = await fetch(`${url}/threads/import`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ format: "millrace.session", version: 1, session_name: name, graph_id: "agent", messages }),
  });
  return Made.parse(await response.json()).thread_id;
}

async function heapOf(devtools: CDPSession): Promise<number> {
  await devtools.send("HeapProfiler.collectGarbage");
  return (await metricOf(devtools, "JSHeapUsedSize")) / 1e6;
}

/** Pixels that a long thread is scrolled in a frame. */
const scrolled = 900;

/** Shows a thread as a link does; gives the milliseconds until a text of it is there. */
async function show(page: Page, thread: string, last: string): Promise<number> {
  const begun = performance.now();
  await page.evaluate(`history.pushState(null, "", "/console/t/${thread}")`);
  await whenDrawn(page, `document.querySelector(".conversation")?.textContent.includes("${last}")`);
  return performance.now() - begun;
}

/** Shows the message in the middle of a long thread as a link to it does; gives the milliseconds until it is in sight. */
async function showMessage(page: Page, thread: string, id: string, text: string): Promise<number> {
  const begun = performance.now();
  await page.evaluate(`history.pushState(null, "", "/console/t/${thread}#${id}")`);
  await whenDrawn(
    page,
    `[...document.querySelectorAll("[data-found]")].some((item) => {
      const { top, bottom } = item.getBoundingClientRect();
      return item.textContent.includes("${text}") && top > 0 && bottom < innerHeight;
    })`,
  );
  return performance.now() - begun;
}

/** Pixels by which what is in sight moves while older messages come in above it, the most of some pages. */
async function jumpOf(page: Page, pages: number): Promise<number> {
  const moved: unknown = await page.evaluate(`(async () => {
    const scroller = document.querySelector(".conversation");
    const frame = () => new Promise(requestAnimationFrame);
    const named = () =>
      new Map([...document.querySelectorAll(".conversation-item")].map((item) => [
        /Message \\d+:/.exec(item.textContent)?.[0], item.getBoundingClientRect().top,
      ]));
    let most = 0;
    for (let count = 0; count < ${pages}; count += 1) {
      const before = scroller.scrollHeight;
      scroller.scrollTop = scroller.clientHeight;
      await frame();
      await frame();
      const places = [...named()].filter(([, top]) => top > 0 && top < innerHeight);
      for (let waited = 0, grown = 0; grown < 20 && waited < 300; waited += 1) {
        if (scroller.scrollHeight > before + 1000) grown += 1;
        const now = named();
        for (const [name, top] of places) if (now.has(name)) most = Math.max(most, Math.abs(now.get(name) - top));
        await frame();
      }
    }
    return most;
  })()`);
  return z.number().parse(moved);
}

/** G4, G5 and G15: a long thread opens at its end, draws what is in sight, and leaves nothing behind. */
export async function measureLongThread(
  browser: Browser,
  url: string,
  { messages: count, frames: frameCount, changes }: { messages: number; frames: number; changes: number },
): Promise<Figure[]> {
  const long = await importThread(url, count, "long");
  const short = await importThread(url, 20, "short");
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const devtools = await context.newCDPSession(page);
    await devtools.send("Performance.enable");
    await page.goto(`${url}/console/t/${short}`);
    await page.locator(".conversation-item").first().waitFor();
    const opened = await show(page, long, `Message ${count - 1}:`);
    const jump = await jumpOf(page, Math.min(5, Math.floor(count / 100)));
    await show(page, short, "Message 19:");
    const middle = Math.floor(count / 2);
    const reached = await showMessage(page, long, `long-${middle}`, `Message ${middle}:`);
    await show(page, short, "Message 19:");
    await show(page, long, `Message ${count - 1}:`);
    const elements = Number(await page.evaluate("document.querySelectorAll('*').length"));
    await watchFrames(page);
    const work = await workOfFrames(
      browser,
      page,
      `(async () => {
        const scroller = document.querySelector(".conversation");
        for (let frame = 0; frame < ${frameCount}; frame += 1) {
          await new Promise(requestAnimationFrame);
          performance.mark("frame");
          scroller.scrollTop -= ${scrolled};
        }
      })()`,
    );
    const scrolling = `G5 scrolling ${frameCount} frames`;
    const frames = await frameFigures(page, scrolling, { long: 0 });
    await show(page, short, "Message 19:");
    const before = await heapOf(devtools);
    for (let turn = 0; turn < changes / 2; turn += 1) {
      await show(page, long, `Message ${count - 1}:`);
      await show(page, short, "Message 19:");
    }
    const grown = (await heapOf(devtools)) - before;
    return [
      { measure: "G4 a long thread opens at its end", value: opened, unit: "ms", max: 700 },
      { measure: "G4 a long thread opens at a message", value: reached, unit: "ms", max: 1_000 },
      { measure: "G4 what is in sight moves by, while older messages come", value: jump, unit: "px", max: 1 },
      { measure: "G5 elements that it draws", value: elements, unit: "", max: 1_500 },
      { measure: `${scrolling}, p95 of the work of the page`, value: percentile(work, 95), unit: "ms", max: 16 },
      ...frames,
      { measure: `G15 heap after ${changes} changes of thread`, value: grown, unit: "MB more", max: 20 },
    ];
  } finally {
    await context.close();
  }
}

/** Milliseconds after which the lists are read again that the last change concerned. */
const settled = 1_000;

/** G12: two tabs agree, and a tab asks nothing while nothing happens. */
export async function measureTabs(
  browser: Browser,
  url: string,
  { times, rest }: { times: number; rest: number },
): Promise<Figure[]> {
  const thread = await importThread(url, 2, "tabs");
  const context = await browser.newContext();
  try {
    const pages = await Promise.all([context.newPage(), context.newPage()]);
    for (const page of pages) {
      await page.goto(`${url}/console/t/${thread}`);
      await page.locator(".conversation-item").first().waitFor();
    }
    const delays: number[] = [];
    for (let time = 0; time < times; time += 1) {
      const name = `Name ${time}`;
      await fetch(`${url}/threads/${thread}/info`, {
        method: "PATCH",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name }),
      });
      const seen = await Promise.all(
        pages.map(async (page) => {
          await page.locator(".title-name").getByText(name, { exact: true }).waitFor();
          return performance.now();
        }),
      );
      delays.push(Math.max(...seen) - Math.min(...seen));
    }
    await delay(settled);
    let asked = 0;
    for (const page of pages) page.on("request", () => (asked += 1));
    await delay(rest);
    return [
      { measure: "G12 between two tabs, p95", value: percentile(delays, 95), unit: "ms", max: 250 },
      { measure: "G12 requests of two tabs at rest, a minute", value: (asked * 60_000) / rest, unit: "", max: 0 },
    ];
  } finally {
    await context.close();
  }
}
