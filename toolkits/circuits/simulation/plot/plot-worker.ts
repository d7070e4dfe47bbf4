import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parentPort, workerData } from "node:worker_threads";
import { initWasm, Resvg } from "@resvg/resvg-wasm";

/** The thread that makes a PNG of a picture in SVG (`workerData`): to load and to draw takes longer than the event loop may wait. */

await initWasm(readFile(fileURLToPath(import.meta.resolve("@resvg/resvg-wasm/index_bg.wasm"))));
const png = new Resvg(String(workerData)).render().asPng();
parentPort?.postMessage(png);
