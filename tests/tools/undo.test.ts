import {
  chmod,
  link,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import type { OperationStore } from "@millrace/engine/storage/attempt-store";
import { executeCall, type CallRuntime } from "../../src/tools/runtime/execute-call.ts";
import { tools } from "../../src/tools/index.ts";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { createOperations, type Operations } from "../../src/tools/undo/operations.ts";
import { prepareCall } from "../../src/tools/runtime/run-tool.ts";
import type { Tool } from "../../src/tools/runtime/tool.ts";
import { createTestOperations } from "../support/test-storage.ts";
import { aWorkspace, type Workspace } from "../support/a-workspace.ts";
import type { ToolResult } from "../../src/tools/runtime/result.ts";
import { codeTools } from "../../toolkits/code/tools/index.ts";

let workspace: Workspace;
let runtime: CallRuntime;
let operations: Operations;
let store: OperationStore;
let calls = 0;
const signal = new AbortController().signal;

beforeEach(async () => {
  workspace = await aWorkspace();
  store = await createTestOperations("session");
  const locks = createLocks();
  runtime = { ledger: createMemoryLedger(), locks, operations: store };
  operations = createOperations({
    store,
    locks,
    workspace: workspace.root,
    toolkitServices: workspace.context.toolkitServices,
  });
});
afterEach(() => workspace[Symbol.asyncDispose]());

/** Runs a call as the loop does. */
async function run(
  tool: Tool,
  input: object,
  more: { run_id?: string; signal?: AbortSignal } = {},
): Promise<ToolResult> {
  const prepared = prepareCall(tool, input);
  if (prepared.kind === "invalid") return prepared.result;
  const context = { ...workspace.context, callId: `m/${++calls}`, signal: more.signal ?? signal };
  const call = { tool, input: prepared.input, context, run_id: more.run_id ?? "r", message_id: "m" };
  return executeCall(call, runtime);
}

/** Everything in a folder with modes, bytes and links, by path. */
async function treeOf(folder = workspace.root, prefix = ""): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const stats = await lstat(path);
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) tree[prefix + name] = `link ${await readlink(path)}`;
    else if (stats.isDirectory()) {
      tree[`${prefix}${name}/`] = mode;
      Object.assign(tree, await treeOf(path, `${prefix}${name}/`));
    } else tree[prefix + name] = `${mode} ${(await readFile(path)).toString("base64")}`;
  }
  return tree;
}

const idOf = (result: ToolResult): string => result.operation?.operation_id ?? "";
const undo = (result: ToolResult) => operations.undo("session", idOf(result), signal);
const cards = async () => (await operations.list("session", { limit: 100, offset: 0 })).operations;

describe("undo (TOOL-18)", () => {
  beforeEach(async () => {
    await workspace.fill({ "a.txt": "one\ntwo\n", "folder/b.txt": "b", "folder/sub/c.txt": "c", "empty/": "" });
    await writeFile(join(workspace.root, "bytes.bin"), Buffer.from([0, 255, 254, 10, 13, 0]));
    await chmod(join(workspace.root, "bytes.bin"), 0o640);
    await chmod(join(workspace.root, "folder/sub"), 0o750);
    await symlink("a.txt", join(workspace.root, "link"));
    await symlink("../nowhere", join(workspace.root, "folder/broken"));
  });

  it.each<[string, Tool, object, string]>([
    ["a new file, with the folders made for it", tools.create_file, { path: "x/y/new.txt", content: "new" }, "create"],
    ["a new folder, with those above it", tools.create_folder, { path: "x/y" }, "create"],
    ["a replaced file", tools.update_file, { path: "a.txt", content: "three" }, "modify"],
    ["a replaced file of bytes that are no text", tools.update_file, { path: "bytes.bin", content: "text" }, "modify"],
    ["a file replaced through a link", tools.update_file, { path: "link", content: "three" }, "modify"],
    ["a file written anew", codeTools.write_to_file, { path: "bytes.bin", content: "text" }, "modify"],
    [
      "a file written first, with its folders",
      codeTools.write_to_file,
      { path: "x/y/new.txt", content: "new" },
      "create",
    ],
    [
      "replaced lines",
      codeTools.replace_in_file,
      { path: "a.txt", diff: "<<<<<<< SEARCH\ntwo\n=======\n2\n3\n>>>>>>> REPLACE" },
      "modify",
    ],
    ["a deleted file", tools.delete_file, { path: "bytes.bin" }, "delete"],
    ["a deleted link", tools.delete_file, { path: "link" }, "delete"],
    ["a deleted folder with all in it", tools.delete_file, { path: "folder" }, "delete"],
    ["a deleted empty folder", tools.delete_file, { path: "empty" }, "delete"],
    [
      "a moved file, with the folders made for it",
      tools.move_file,
      { source: "a.txt", destination: "p/q.txt" },
      "move",
    ],
    ["a moved folder", tools.move_file, { source: "folder", destination: "p/folder" }, "move"],
    ["a renamed file", tools.rename_file, { path: "bytes.bin", new_name: "other.bin" }, "move"],
    ["a moved link", tools.move_file, { source: "link", destination: "other" }, "move"],
  ])("takes back %s, byte for byte", async (_, tool, input, type) => {
    const before = await treeOf();
    const result = await run(tool, input);
    expect(result).toMatchObject({ success: true, operation: { type } });
    expect(await treeOf()).not.toEqual(before);
    expect(await cards()).toMatchObject([{ tool: tool.name, type, status: "success", can_undo: true }]);
    expect(await undo(result)).toMatchObject({ status: "undone", can_undo: false });
    expect(await treeOf()).toEqual(before);
    expect(await undo(result)).toMatchObject({ status: "undone" });
    expect(await treeOf()).toEqual(before);
  });

  it("of every step in turn gives back any workspace, whatever was done to it", async () => {
    const path = fc.constantFrom("a.txt", "b", "folder", "folder/b.txt", "folder/sub", "x/y/z", "link", "empty/n");
    const step = fc.oneof(
      fc.tuple(fc.constant(tools.create_file), fc.record({ path, content: fc.string() })),
      fc.tuple(fc.constant(tools.update_file), fc.record({ path, content: fc.string() })),
      fc.tuple(fc.constant(tools.delete_file), fc.record({ path })),
      fc.tuple(fc.constant(tools.create_folder), fc.record({ path })),
      fc.tuple(fc.constant(tools.move_file), fc.record({ source: path, destination: path })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        const before = await treeOf();
        const done: ToolResult[] = [];
        for (const [tool, input] of steps) done.push(await run(tool, input));
        for (const result of done.toReversed()) if (result.operation !== undefined) await undo(result);
        expect(await treeOf()).toEqual(before);
      }),
      { numRuns: 40 },
    );
  });

  it.each<[string, Tool, object, () => Promise<unknown>]>([
    ["was edited", tools.update_file, { path: "a.txt", content: "new" }, () => workspace.fill({ "a.txt": "mine" })],
    ["has another mode", tools.update_file, { path: "a.txt", content: "new" }, () => chmod(at("a.txt"), 0o600)],
    ["is gone", tools.update_file, { path: "a.txt", content: "new" }, () => rm(at("a.txt"))],
    ["came back by other hands", tools.delete_file, { path: "a.txt" }, () => workspace.fill({ "a.txt": "mine" })],
    ["is filled by now", tools.create_folder, { path: "made" }, () => workspace.fill({ "made/x": "mine" })],
    [
      "was edited where it was moved to",
      tools.move_file,
      { source: "a.txt", destination: "z" },
      () => workspace.fill({ z: "mine" }),
    ],
    [
      "has a new file in its old place",
      tools.move_file,
      { source: "a.txt", destination: "z" },
      () => workspace.fill({ "a.txt": "mine" }),
    ],
    [
      "is another one of its name",
      tools.create_file,
      { path: "new", content: "n" },
      () => rename(at("bytes.bin"), at("new")),
    ],
    [
      "is a link by now",
      tools.create_file,
      { path: "new", content: "one\ntwo\n" },
      () => rm(at("new")).then(() => symlink("a.txt", at("new"))),
    ],
  ])("is refused, with nothing touched, when what was changed %s", async (_, tool, input, change) => {
    const result = await run(tool, input);
    await change();
    const before = await treeOf();
    await expect(undo(result)).rejects.toMatchObject({ code: "conflict" });
    expect(await treeOf()).toEqual(before);
    expect(await cards()).toMatchObject([{ status: "success", can_undo: true }]);
  });

  it("of an earlier change waits until the later one on the same file is undone", async () => {
    const first = await run(tools.update_file, { path: "a.txt", content: "first" });
    const second = await run(tools.update_file, { path: "a.txt", content: "second" });
    await expect(undo(first)).rejects.toMatchObject({ code: "conflict" });
    await undo(second);
    await undo(first);
    expect(await readFile(at("a.txt"), "utf8")).toBe("one\ntwo\n");
  });

  it("goes on where a crash left an undo that was not written down", async () => {
    const result = await run(tools.delete_file, { path: "a.txt" });
    await workspace.fill({ "a.txt": "one\ntwo\n" });
    expect(await undo(result)).toMatchObject({ status: "undone" });
  });

  it.each<[string, () => Promise<unknown>]>([
    ["one file of it", () => workspace.fill({ "folder/b.txt": "b" })],
    ["an empty subfolder, with a mode that was not given back yet", () => mkdir(at("folder/sub"), { recursive: true })],
    ["all but the modes", () => workspace.fill({ "folder/b.txt": "b", "folder/sub/c.txt": "c" })],
    ["a file half written", () => workspace.fill({ [`folder/${leftover}`]: "hal" }).then(() => age(leftover))],
  ])("goes on where a crash left of a folder %s", async (_, leave) => {
    const before = await treeOf();
    const result = await run(tools.delete_file, { path: "folder" });
    await leave();
    expect(await undo(result)).toMatchObject({ status: "undone" });
    expect(await treeOf()).toEqual(before);
  });

  it("puts nothing into a folder that came back with other things in it", async () => {
    const result = await run(tools.delete_file, { path: "folder" });
    await workspace.fill({ "folder/b.txt": "mine" });
    const before = await treeOf();
    await expect(undo(result)).rejects.toMatchObject({ code: "conflict" });
    expect(await treeOf()).toEqual(before);
  });

  it("goes on where a crash left a file with both names, and a folder with its old name held", async () => {
    const before = await treeOf();
    const file = await run(tools.move_file, { source: "a.txt", destination: "p/q.txt" });
    await link(at("p/q.txt"), at("a.txt"));
    await undo(file);
    const folder = await run(tools.move_file, { source: "folder", destination: "p/folder" });
    await mkdir(at("folder"));
    await undo(folder);
    expect(await treeOf()).toEqual(before);
  });

  it("of a move is refused when a copy lies in the old place", async () => {
    const result = await run(tools.move_file, { source: "a.txt", destination: "z.txt" });
    await workspace.fill({ "a.txt": "one\ntwo\n" });
    const before = await treeOf();
    await expect(undo(result)).rejects.toMatchObject({ code: "conflict" });
    expect(await treeOf()).toEqual(before);
  });

  it.each<[string, () => Promise<unknown>]>([
    ["are gone", () => rm(at("x"), { recursive: true })],
    ["became a link", () => rm(at("x"), { recursive: true }).then(() => symlink("folder", at("x")))],
  ])("is done when the folders that were made %s with all in them", async (_, change) => {
    const result = await run(tools.create_file, { path: "x/sub/new.txt", content: "new" });
    await change();
    const before = await treeOf();
    expect(await undo(result)).toMatchObject({ status: "undone" });
    expect(await treeOf()).toEqual(before);
  });

  it("restores no half of a folder with names that no path can have", async () => {
    await workspace.fill({ "folder/odd\\name": "odd" });
    const result = await run(tools.delete_file, { path: "folder" });
    expect(result).toMatchObject({ success: true });
    expect(await cards()).toMatchObject([{ can_undo: false }]);
    const before = await treeOf();
    await expect(undo(result)).rejects.toMatchObject({ code: "invalid_state" });
    expect(await treeOf()).toEqual(before);
  });

  it("knows a folder from which something vanishes while it is looked at", async () => {
    // The name is no UTF-8: it is listed, and is not there when it is asked for.
    await writeFile(Buffer.concat([Buffer.from(at("folder/")), Buffer.from([0xff])]), "x");
    expect(await run(tools.delete_file, { path: "folder" })).toMatchObject({ success: false });
    expect(await cards()).toMatchObject([{ path: "folder", status: "failed" }]);
  });

  it("does not follow a link that was put into the way to another place", async () => {
    const result = await run(tools.create_file, { path: "x/new.txt", content: "new" });
    await mkdir(join(workspace.outside, "elsewhere"));
    await writeFile(join(workspace.outside, "elsewhere/new.txt"), "new");
    await rm(at("x"), { recursive: true });
    await symlink("../elsewhere", at("x"));
    await expect(undo(result)).rejects.toMatchObject({ code: "permission" });
    expect(await readFile(join(workspace.outside, "elsewhere/new.txt"), "utf8")).toBe("new");
  });

  it("knows nothing of calls that changed nothing, and says so when asked for what it cannot do", async () => {
    expect(await run(tools.create_file, { path: "a.txt", content: "x" })).toMatchObject({ errorType: "conflict" });
    expect(await run(tools.create_file, { path: "../out", content: "x" })).toMatchObject({ errorType: "permission" });
    expect(await run(tools.read_file, { path: "a.txt" })).not.toHaveProperty("operation");
    const [card, ...rest] = await cards();
    expect(rest).toEqual([]);
    expect(card).toMatchObject({ status: "failed", can_undo: false, lines_added: null });
    const refused = operations.undo("session", card?.operation_id ?? "", signal);
    await expect(refused).rejects.toMatchObject({ code: "invalid_state" });
    await expect(operations.undo("session", "unknown", signal)).rejects.toMatchObject({ code: "not_found" });
    await expect(operations.undo("other", card?.operation_id ?? "", signal)).rejects.toMatchObject({
      code: "not_found",
    });
  });

  it("keeps no bytes of what is too large, and says that it cannot be undone", async () => {
    await writeFile(at("large"), Buffer.alloc(5 * 1024 * 1024, 1));
    const result = await run(tools.delete_file, { path: "large" });
    expect(result).toMatchObject({ success: true });
    expect(await cards()).toMatchObject([{ type: "delete", path: "large", can_undo: false }]);
    await expect(undo(result)).rejects.toMatchObject({ code: "invalid_state" });
  });

  it("takes back the half of a folder that a stop let go", async () => {
    const before = await treeOf();
    const stop = new AbortController();
    const halting: Tool = {
      ...(tools.delete_file as Tool),
      async run() {
        await rm(at("folder/b.txt"));
        stop.abort();
        throw stop.signal.reason;
      },
    };
    expect(await run(halting, { path: "folder" }, { signal: stop.signal })).toMatchObject({ errorType: "cancelled" });
    const settled = async () => {
      while ((await cards())[0]?.status === "pending") await new Promise((resolve) => setImmediate(resolve));
      return cards();
    };
    const [card] = await settled();
    expect(card).toMatchObject({ status: "failed", can_undo: true });
    await operations.undo("session", card?.operation_id ?? "", signal);
    expect(await treeOf()).toEqual(before);
  });

  const at = (path: string): string => join(workspace.root, path);
  const leftover = `.millrace-${crypto.randomUUID()}.tmp`;
  /** Makes a file of the folder older than this process. */
  const age = (name: string) => utimes(at(`folder/${name}`), new Date(0), new Date(0));
});

describe("the description of an operation (TOOL-19, MSG-14, MSG-15)", () => {
  it("is its kind, its path, and the lines that differ", async () => {
    await workspace.fill({ "a.txt": "1\n2\n3\n4\n5\n6\n7\n8\n9\n" });
    const result = await run(tools.update_file, { path: "a.txt", content: "1\n2\n3\n4\nfive\n5b\n6\n7\n8\n9\n" });
    expect(result.operation).toMatchObject({
      type: "modify",
      path: "a.txt",
      lines_added: 2,
      lines_removed: 1,
      first_line: 5,
    });
    const diff = await operations.diff("session", idOf(result), 20, signal);
    expect(diff).toMatchObject({ added: 2, removed: 1, more: 0, reason: null });
    expect(diff.lines.map(({ kind, text }) => `${kind} ${text}`)).toEqual([
      "same 2",
      "same 3",
      "same 4",
      "removed 5",
      "added five",
      "added 5b",
      "same 6",
      "same 7",
      "same 8",
    ]);
    expect(await operations.diff("session", idOf(result), 4, signal)).toMatchObject({ more: 5 });
  });

  it("is why there is no difference to show", async () => {
    await writeFile(join(workspace.root, "bytes.bin"), Buffer.from([0, 1]));
    await writeFile(join(workspace.root, "large.txt"), "a".repeat(5 * 1024 * 1024));
    const reasons = [
      await run(tools.delete_file, { path: "bytes.bin" }),
      await run(tools.delete_file, { path: "large.txt" }),
      await run(tools.create_file, { path: "a", content: "" }),
      await run(tools.move_file, { source: "a", destination: "b" }),
    ].map(async (result) => (await operations.diff("session", idOf(result), 20, signal)).reason);
    expect(await Promise.all(reasons)).toEqual(["not_text", "not_kept", null, "moved"]);
  });

  it("is not read from a document after the client has disconnected", async () => {
    const result = await run(tools.create_file, { path: "report.docx", content: "# Report\n" });
    const gone = AbortSignal.abort(new Error("gone"));
    await expect(operations.diff("session", idOf(result), 20, gone)).rejects.toThrow("gone");
    expect(await operations.diff("session", idOf(result), 20, signal)).toMatchObject({ added: 1, reason: null });
  });

  it("includes files named like properties of Object.prototype", async () => {
    for (const path of ["__proto__", "constructor"]) {
      await run(tools.create_file, { path, content: "" });
      await run(tools.update_file, { path, content: "a" });
    }
    await run(tools.move_file, { source: "constructor", destination: "toString" });
    const changes = Object.entries(await operations.changes("session", "r"));
    expect(Object.hasOwn(Object.prototype, "content")).toBe(false);
    expect(changes).toEqual([
      ["__proto__", { type: "added", diffs: ["+a"], content: "a" }],
      ["toString", { type: "added", diffs: ["+a"], content: "a" }],
    ]);
  });

  it("by run counts each change once, also when another is made while they are read", async () => {
    for (let index = 0; index < 101; index += 1) await run(tools.create_file, { path: `f${index}`, content: "x\n" });
    let isFirst = true;
    const growing: OperationStore = {
      ...store,
      list: async (...query) => {
        const page = await store.list(...query);
        if (isFirst) await run(tools.create_file, { path: "later", content: "x\n" });
        isFirst = false;
        return page;
      },
    };
    const { locks } = runtime;
    operations = createOperations({
      store: growing,
      locks,
      workspace: workspace.root,
      toolkitServices: workspace.context.toolkitServices,
    });
    const changes = Object.values(await operations.changes("session", "r"));
    expect(changes.filter(({ diffs }) => diffs.length !== 1)).toEqual([]);
    expect(changes.length).toBeGreaterThanOrEqual(101);
  });

  it("by run is the change of each file: added stays added, differences add up, the newest text counts", async () => {
    await workspace.fill({ "old.txt": "1\n", "gone.txt": "x\n" });
    await run(tools.create_file, { path: "new.txt", content: "a\n" });
    await run(tools.update_file, { path: "new.txt", content: "b\n" });
    await run(tools.update_file, { path: "old.txt", content: "2\n" });
    const undone = await run(tools.delete_file, { path: "gone.txt" });
    await undo(undone);
    await run(tools.update_file, { path: "gone.txt", content: "y\n" }, { run_id: "another" });
    await run(tools.move_file, { source: "new.txt", destination: "moved.txt" });
    expect(await run(tools.move_file, { source: "moved.txt", destination: "gone.txt" })).toMatchObject({
      errorType: "conflict",
    });
    expect(await operations.changes("session", "r")).toEqual({
      "moved.txt": { type: "added", diffs: ["+a", "-a\n+b"], content: "b\n" },
      "old.txt": { type: "modified", diffs: ["-1\n+2"], content: "2\n" },
    });
  });
});
