import type { Page } from "playwright-core";
import { z } from "zod";
import type { Figure } from "../../bench/figures.ts";
import { percentile } from "../../bench/servers/load.ts";

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
  most: { p95: number; long: number },
): Promise<Figure[]> {
  const noted: unknown = await page.evaluate(
    "(() => { const noted = window.frames_; window.frames_ = []; return noted; })()",
  );
  const frames = z.array(z.number()).parse(noted);
  const note = "drawn without a GPU";
  return [
    { measure: `${measure}, p95 of a frame`, value: percentile(frames, 95), unit: "ms", max: most.p95, note },
    {
      measure: `${measure}, over 50 ms`,
      value: frames.filter((time) => time > 50).length,
      unit: "",
      max: most.long,
      note,
    },
  ];
}
