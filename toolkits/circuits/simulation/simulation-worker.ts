import { parentPort } from "node:worker_threads";
import { z } from "zod";

/**
 * The worker thread for ngspice, compiled to WebAssembly: it has no access to files or programs of the machine. It
 * answers each `{id, deck}` once, unless it is terminated first.
 */

/** Limits in bytes of memory and result, and characters of output. */
const [maxMemoryBytes, maxResultBytes, maxOutputLength] = [384 * 1024 * 1024, 64 * 1024 * 1024, 1_000_000];
const [resultFile, page] = ["out.raw", 65_536];

/** The used part of the engine's file system, missing in its types. */
interface EngineFiles {
  readFile: (path: string, options?: unknown) => Uint8Array;
  unlink: (path: string) => void;
  write: (stream: { path?: string }, buffer: unknown, offset: number, length: number, ...rest: unknown[]) => number;
}
/** The used part of WebAssembly, missing in the language's types. */
interface WasmMemory {
  prototype: { grow: (this: { buffer: ArrayBuffer }, pages: number) => number };
}
const WebAssemblyWithin = z.object({ Memory: z.custom<WasmMemory>((value) => typeof value === "function") });
/** Where the engine reads its next command. */
const Terminal = z.object({
  window: z.custom<{ prompt: (text?: string) => string | null }>(
    (value) => typeof value === "object" && value !== null,
  ),
});
const EngineModule = z.object({ FS: z.custom<EngineFiles>((value) => typeof value === "object" && value !== null) });

/** The engine parses each result itself, and hangs if it cannot; it gets this one instead. */
const smallest = new Uint8Array(
  Buffer.from(
    "Title: -\nDate: -\nPlotname: -\nFlags: real\nNo. Variables: 1\nNo. Points: 1\nVariables:\n\t0\ta\tvoltage\nBinary:\n\0\0\0\0\0\0\0\0",
    "latin1",
  ),
);

let running: number | null = null;
let outputLength = 0;
/** If values cannot be computed, the engine repeats a prompt until it gets an answer. */
let asksBecauseOfValues = false;

function onOutput(text: unknown): void {
  const line = String(text);
  outputLength += line.length;
  if (line.startsWith("Netlist line no.")) asksBecauseOfValues = true;
  if (outputLength > maxOutputLength) answer("flood", null);
  else if (/fatal error in ngspice|not enough memory/iu.test(line)) answer("fatal", null);
}

function answer(kind: "ended" | "fatal" | "flood", raw: Uint8Array<ArrayBuffer> | null): void {
  if (running === null) return;
  const output = engine.getInfo().slice(-maxOutputLength);
  parentPort?.postMessage({ id: running, kind, raw, output }, raw === null ? [] : [raw.buffer]);
  running = null;
}

// The engine logs there; nothing else in this thread does.
Object.assign(console, { error: onOutput, info: () => undefined });

const { Memory } = WebAssemblyWithin.parse(Reflect.get(globalThis, "WebAssembly"));
const { grow } = Memory.prototype;
Memory.prototype.grow = function growWithin(pages) {
  if (this.buffer.byteLength + pages * page > maxMemoryBytes)
    throw new RangeError("The simulator may take no more memory.");
  return grow.call(this, pages);
};

const { Simulation } = await import("eecircuit-engine");
const engine = new Simulation();
await engine.start();
const { FS: files } = EngineModule.parse(engine.__getSpiceModuleForTests());
const { readFile, write } = files;
let written = 0;

const { window } = Terminal.parse(globalThis);
const { prompt } = window;
window.prompt = (text) => (asksBecauseOfValues ? "n" : prompt(text));

files.write = (stream, buffer, offset, length, ...rest) => {
  if (stream.path?.includes(resultFile) === true) {
    written += length;
    if (written > maxResultBytes) {
      answer("flood", null);
      throw new RangeError("The result is too large.");
    }
  }
  return write.call(files, stream, buffer, offset, length, ...rest);
};

// The engine reads the result after all commands, whether it exists or not.
files.readFile = (path, options) => {
  if (path !== resultFile) return readFile.call(files, path, options);
  let raw: Uint8Array<ArrayBuffer> | null = null;
  try {
    raw = Uint8Array.from(readFile.call(files, path, options));
    files.unlink(path);
  } catch {
    // No result was written: the output says why.
  }
  answer("ended", raw);
  return new Uint8Array(smallest);
};

parentPort?.on("message", ({ id, deck }: { id: number; deck: string }) => {
  [running, outputLength, written, asksBecauseOfValues] = [id, 0, 0, false];
  engine.setNetList(deck);
  void engine.runSim();
});
parentPort?.postMessage({ kind: "ready" });
