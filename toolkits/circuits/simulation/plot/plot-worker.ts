import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { initWasm, Resvg } from "@resvg/resvg-wasm";

/** The worker thread that renders an SVG (`workerData`) as PNG: loading and drawing would block the event loop. */

await initWasm(readFile(fileURLToPath(import.meta.resolve("@resvg/resvg-wasm/index_bg.wasm"))));
const png = new Resvg(String(workerData)).render().asPng();
parentPort?.postMessage(png);
