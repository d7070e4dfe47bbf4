import type { Browser, CDPSession, Page } from "playwright-core";
import { z } from "zod";
import type { Figure } from "../../bench/figures.ts";
import { percentile } from "../../bench/servers/load.ts";

/** Waits until an expression is true in a frame of the page; locators look again up to half a second later. */
export async function whenDrawn(page: Page, expression: string): Promise<void> {
  await page.evaluate(`new Promise((resolve) => {
    const look = () => (${expression}) ? resolve() : requestAnimationFrame(look);
    look();
  })`);
}

const Metrics = z.object({ metrics: z.array(z.object({ name: z.string(), value: z.number() })) });

/** One of the figures that the browser keeps of a page, as its debugger names it. */
export async function metricOf(devtools: CDPSession, name: string): Promise<number> {
  const { metrics } = Metrics.parse(await devtools.send("Performance.getMetrics"));
  return metrics.find((one) => one.name === name)?.value ?? Number.NaN;
}

/** From now on the page notes how long each of its frames takes. */
export async function watchFrames(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const frames = (window.frames_ = []);
    let before = performance.now();
    const note = (now) => {
      frames.push(now - before);
      before = now;
      if (window.frames_ === frames) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
  })()`);
}

/** Ends the notes, and says of them how long frames were and how many were far too long. */
export async function frameFigures(
  page: Page,
  measure: string,
  most: { p95?: number; long: number },
): Promise<Figure[]> {
  const noted: unknown = await page.evaluate(
    "(() => { const noted = window.frames_; window.frames_ = []; return noted; })()",
  );
  const frames = z.array(z.number()).parse(noted);
  const note = "drawn without a GPU";
  return [
    {
      measure: `${measure}, p95 of a frame`,
      value: percentile(frames, 95),
      unit: "ms",
      note,
      ...(most.p95 !== undefined && { max: most.p95 }),
    },
    {
      measure: `${measure}, over 50 ms`,
      value: frames.filter((time) => time > 50).length,
      unit: "",
      max: most.long,
      note,
    },
  ];
}

const Trace = z.object({
  traceEvents: z.array(
    z.looseObject({
      name: z.string(),
      ph: z.string(),
      ts: z.number(),
      dur: z.number().optional(),
      /** The part of `dur` in which the thread had a processor. */
      tdur: z.number().optional(),
      pid: z.number(),
      tid: z.number(),
    }),
  ),
});
/** What a browser calls a task of a thread. */
const taskNames = new Set(["RunTask", "ThreadControllerImpl::RunTask"]);

/**
 * Milliseconds of CPU time that the main thread of the page took in each frame of a script, which calls
 * `performance.mark("frame")` at the beginning of each: a drawing without a GPU is no part of them, nor is waiting for a
 * processor that the server, the browser and the benchmark share.
 */
export async function workOfFrames(browser: Browser, page: Page, script: string): Promise<number[]> {
  const categories = ["toplevel", "blink.user_timing", "devtools.timeline", "disabled-by-default-devtools.timeline"];
  await browser.startTracing(page, { categories });
  await page.evaluate(script);
  const { traceEvents } = Trace.parse(JSON.parse((await browser.stopTracing()).toString()));
  const marks = traceEvents.filter(({ name }) => name === "frame").toSorted((one, other) => one.ts - other.ts);
  const [first] = marks;
  const isMain = ({ pid, tid }: { pid: number; tid: number }): boolean => pid === first?.pid && tid === first.tid;
  const tasks = traceEvents.filter((event) => event.ph === "X" && taskNames.has(event.name) && isMain(event));
  const work = marks.map(() => 0);
  let end = 0;
  for (const { ts, dur = 0, tdur = dur } of tasks.toSorted((one, other) => one.ts - other.ts)) {
    // A task within a task is a part of it.
    if (ts < end) continue;
    end = ts + dur;
    const frame = marks.findLastIndex((mark) => mark.ts <= ts + dur);
    if (frame >= 0) work[frame] = (work[frame] ?? 0) + tdur / 1_000;
  }
  return work;
}
