import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as vitest from "vitest";
import { openSaver, type OpenSaver } from "./open-saver.ts";

// The suite takes the test functions from the global scope, where its own copy of vitest would put them.
Object.assign(globalThis, vitest);
const { validate, deltaChannelHistoryTests } = await import("@langchain/langgraph-checkpoint-validation");

const folder = mkdtempSync(join(tmpdir(), "validation-"));
vitest.afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
const open = new Map<object, OpenSaver>();
const initializer = {
  checkpointerName: "MillraceSaver",
  createCheckpointer: () => {
    const opened = openSaver(join(folder, `${(count += 1)}.db`));
    open.set(opened.saver, opened);
    return opened.saver;
  },
  destroyCheckpointer: (saver: object) => open.get(saver)?.close(),
};

validate(initializer);
deltaChannelHistoryTests(initializer);
