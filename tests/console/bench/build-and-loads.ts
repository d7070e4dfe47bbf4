import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import type { Figure } from "../../bench/figures.ts";
import { percentile } from "../../bench/servers/load.ts";
import { projectFolder } from "../../support/source-files.ts";
import { sizesOf } from "./build-sizes.ts";
import { whenDrawn } from "./frames.ts";

/** G1 and G3: what a fresh clone waits for, and what a browser loads first. */
export async function measureBuild(): Promise<Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-console-bench-"));
  try {
    const begun = performance.now();
    const child = spawn(process.execPath, [join(projectFolder, "console/build.ts"), join(folder, "built")], {
      stdio: "inherit",
    });
    await once(child, "exit");
    const took = (performance.now() - begun) / 1000;
    return [
      { measure: "G1 build of a fresh clone", value: took, unit: "s", max: 3 },
      ...(await sizesOf(join(folder, "built"))),
    ];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Milliseconds from the request of a page until something can be typed. */
async function usableAfter(page: Page, url: string): Promise<number> {
  const begun = performance.now();
  await page.goto(url, { waitUntil: "commit" });
  await whenDrawn(page, "document.querySelector('.composer-field')?.checkVisibility()");
  return performance.now() - begun;
}

/** G2: how soon one can type, cold, warm and on a slow machine. */
export async function measureLoads(browser: Browser, url: string, times: number): Promise<Figure[]> {
  const found: Record<"cold" | "warm" | "slow", number[]> = { cold: [], warm: [], slow: [] };
  for (let time = 0; time < times; time += 1) {
    const context = await browser.newContext();
    const page = await context.newPage();
    found.cold.push(await usableAfter(page, `${url}/console/`));
    found.warm.push(await usableAfter(page, `${url}/console/`));
    const devtools = await context.newCDPSession(page);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: 4 });
    found.slow.push(await usableAfter(page, `${url}/console/`));
    await context.close();
  }
  return [
    { measure: "G2 field usable, cold, p50", value: percentile(found.cold, 50), unit: "ms", max: 400 },
    { measure: "G2 field usable, warm, p50", value: percentile(found.warm, 50), unit: "ms", max: 250 },
    { measure: "G2 the same, a quarter of the speed, p50", value: percentile(found.slow, 50), unit: "ms", max: 1_200 },
  ];
}
