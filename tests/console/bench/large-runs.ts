import type { Browser } from "playwright-core";
import { z } from "zod";
import type { Figure } from "../../bench/figures.ts";
import { frameFigures, watchFrames, whenDrawn } from "./frames.ts";

/** Parts of a run as its trace has them, ten below each. */
function spans(count: number): string {
  const span = (index: number): object => ({
    id: `s${index}`,
    parent: index === 0 ? null : `s${Math.floor((index - 1) / 10)}`,
    kind: index === 0 ? "run" : "node",
    name: `part ${index}`,
    node: null,
    namespace: [],
    checkpoint_id: null,
    start: new Date(1_700_000_000_000 + index).toISOString(),
    first_token: null,
    end: new Date(1_700_000_000_500 + index * 2).toISOString(),
    status: "success",
    usage: null,
    cost: null,
    model: null,
    error: null,
    message_id: null,
    model_call_id: null,
    tool_call_id: null,
    payloads: { input: false, output: false },
    source: "log",
    seq: index,
  });
  return Array.from({ length: count }, (_, index) => `id: ${index}\ndata: ${JSON.stringify(span(index))}\n\n`).join("");
}

const Run = z.object({ thread_id: z.string(), run_id: z.string() });

async function startRun(url: string): Promise<string> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const headers = { "content-type": "application/json" };
    return (await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })).json();
  };
  const { thread_id: thread } = z.object({ thread_id: z.string() }).parse(await post("/threads", {}));
  const { run_id } = Run.parse(await post(`/threads/${thread}/runs`, { assistant_id: "noop", input: {} }));
  return `/console/t/${thread}/run/${run_id}`;
}

/** G8: a run of many parts, and as many events. */
export async function measureTrace(browser: Browser, url: string, count: number): Promise<Figure[]> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const run = await startRun(url);
    const body = spans(count);
    const contentType = "text/event-stream";
    await page.route("**/trace", (route) => route.fulfill({ contentType, body }));
    await page.route("**/runs/*/stream", (route) => route.fulfill({ contentType, body }));
    await page.goto(`${url}${run}?view=state`);
    await page.getByRole("tab", { name: "Time" }).waitFor();
    const open = async (view: string, row: string): Promise<number> => {
      const begun = performance.now();
      await page.evaluate(`history.pushState(null, "", "${run}?view=${view}")`);
      await whenDrawn(page, `document.querySelector("${row}")?.checkVisibility()`);
      return performance.now() - begun;
    };
    // As if the page were opened there: the state reads no trace.
    await page.reload();
    await page.getByRole("tab", { name: "Time" }).waitFor();
    const time = await open("time", ".span-row");
    await watchFrames(page);
    for (let step = 0; step < 6; step += 1) await page.getByRole("button", { name: "Zoom in" }).click();
    const zoomed = await frameFigures(page, `G8 zoom into ${count} parts`, { p95: 20, long: 0 });
    const events = await open("events", ".event-row");
    return [
      { measure: `G8 trace of ${count} parts opens`, value: time, unit: "ms", max: 1_000 },
      ...zoomed,
      { measure: `G8 ${count} events open`, value: events, unit: "ms", max: 1_000 },
    ];
  } finally {
    await context.close();
  }
}

/** G8: a large graph is drawn. */
export async function measureDrawings(browser: Browser, url: string, nodeCount: number): Promise<Figure[]> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    const nodes = Array.from({ length: nodeCount }, (_, index) => ({
      id: `n${index}`,
      type: "runnable",
      data: { id: [], name: `n${index}` },
    }));
    const edges = nodes.slice(1).map(({ id }, index) => ({ source: `n${Math.floor(index / 2)}`, target: id }));
    await page.route("**/assistants/*/graph*", (route) =>
      route.fulfill({ contentType: "application/json", body: JSON.stringify({ nodes, edges }) }),
    );
    await page.goto(`${url}/console/g`);
    await page.locator(".graph-card").first().waitFor();
    const begun = performance.now();
    await page.evaluate('history.pushState(null, "", "/console/g/noop")');
    await whenDrawn(page, `document.querySelectorAll(".graph-node").length === ${nodeCount}`);
    const value = performance.now() - begun;
    return [{ measure: `G8 graph of ${nodeCount} nodes is drawn`, value, unit: "ms", max: 700 }];
  } finally {
    await context.close();
  }
}
