import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import type { OperationStore } from "@millrace/engine/storage/attempt-store";
import { executeCall, type CallRuntime } from "../../../src/tools/runtime/execute-call.ts";
import { tools } from "../../../src/tools/index.ts";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { createOperations, type Operations } from "../../../src/tools/undo/operations.ts";
import type { Tool } from "../../../src/tools/runtime/tool.ts";
import { createTestOperations } from "../../support/test-storage.ts";
import { aWorkspace, type Workspace } from "../../support/a-workspace.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

let workspace: Workspace;
let runtime: CallRuntime;
let store: OperationStore;

beforeEach(async () => {
  workspace = await aWorkspace();
  await workspace.fill({ "a.txt": "old", "folder/b.txt": "b", "folder/c.txt": "c" });
  store = await createTestOperations("session");
  runtime = { ledger: createMemoryLedger(), locks: createLocks(), operations: store };
});
afterEach(() => workspace[Symbol.asyncDispose]());

const operations = (): Operations =>
  createOperations({
    store,
    locks: runtime.locks,
    workspace: workspace.root,
    toolkitServices: workspace.context.toolkitServices,
  });

const at = (path: string): string => join(workspace.root, path);
const run = (tool: Tool, input: Record<string, unknown>): Promise<ToolResult> =>
  executeCall({ tool, input, context: workspace.context, run_id: "r", message_id: "m" }, runtime);

/** The call begins, does `work`, and then the process is gone. What comes after is another process on the same disk. */
async function crash(tool: Tool, input: Record<string, unknown>, work: Tool["run"]): Promise<void> {
  const gone = Promise.withResolvers<void>();
  const halting: Tool["run"] = async (given, context) => {
    await work(given, context);
    gone.resolve();
    return new Promise(() => undefined);
  };
  void run({ ...tool, run: halting }, input);
  await gone.promise;
  runtime = { ...runtime, locks: createLocks() };
}

/** Every text of the workspace, by path. */
async function texts(): Promise<Record<string, string>> {
  const names = await readdir(workspace.root, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const read = files.map(
    async (path) => [path.slice(workspace.root.length + 1), await readFile(path, "utf8")] as const,
  );
  return Object.fromEntries(await Promise.all(read));
}

const calls: [string, Tool, Record<string, unknown>][] = [
  ["create_file", tools.create_file, { path: "new/n.txt", content: "new" }],
  ["update_file", tools.update_file, { path: "a.txt", content: "new" }],
  ["delete_file", tools.delete_file, { path: "a.txt" }],
  ["delete_file of a folder", tools.delete_file, { path: "folder" }],
  ["create_folder", tools.create_folder, { path: "new" }],
  ["move_file", tools.move_file, { source: "a.txt", destination: "new/a.txt" }],
  ["move_file of a folder", tools.move_file, { source: "folder", destination: "new" }],
  ["rename_file", tools.rename_file, { path: "a.txt", new_name: "z.txt" }],
];

describe("after a crash", () => {
  it.each(calls)("%s has its effect once, whether it was there or not, and can be undone", async (_, tool, input) => {
    const before = await texts();
    const done = await run(tool, input);
    const after = await texts();
    const isDone: Tool["run"] = (given, context) => tool.run(given, context);
    for (const work of [async () => done, isDone]) {
      await workspace[Symbol.asyncDispose]();
      workspace = await aWorkspace();
      await workspace.fill({ "a.txt": "old", "folder/b.txt": "b", "folder/c.txt": "c" });
      store = await createTestOperations("session");
      runtime = { ledger: createMemoryLedger(), locks: createLocks(), operations: store };
      expect(await texts()).toEqual(before);
      await crash(tool, input, work);
      const again = await run(tool, input);
      expect(again).toMatchObject({ success: true, data: done.data, operation: { path: done.operation?.path } });
      expect(await texts()).toEqual(after);
      const undone = await operations().undo(
        "session",
        again.operation?.operation_id ?? "",
        new AbortController().signal,
      );
      expect(undone).toMatchObject({ status: "undone" });
      expect(await texts()).toEqual(before);
    }
  });

  it.each<[string, Tool, Record<string, unknown>, () => Promise<unknown>]>([
    ["update_file", tools.update_file, { path: "a.txt", content: "new" }, () => writeFile(at("a.txt"), "mine")],
    ["delete_file", tools.delete_file, { path: "a.txt" }, () => writeFile(at("a.txt"), "mine")],
    ["delete_file of a folder", tools.delete_file, { path: "folder" }, () => writeFile(at("folder/mine.txt"), "mine")],
    ["create_file", tools.create_file, { path: "n.txt", content: "new" }, () => writeFile(at("n.txt"), "mine")],
    ["move_file", tools.move_file, { source: "a.txt", destination: "z" }, () => writeFile(at("a.txt"), "mine")],
  ])(
    "%s touches nothing that another program has changed meanwhile, and says that the outcome is unknown",
    async (_, tool, input, change) => {
      await crash(tool, input, async () => ({ success: true, code: "OK", message: "" }));
      await change();
      const before = await texts();
      expect(await run(tool, input)).toMatchObject({ success: false, code: "OUTCOME_UNKNOWN" });
      expect(await texts()).toEqual(before);
    },
  );

  it("a folder that was half deleted is deleted", async () => {
    await crash(tools.delete_file, { path: "folder" }, async () => {
      await rm(at("folder/b.txt"));
      return { success: true, code: "OK", message: "" };
    });
    expect(await run(tools.delete_file, { path: "folder" })).toMatchObject({ success: true });
    expect(await texts()).toEqual({ "a.txt": "old" });
  });
});
