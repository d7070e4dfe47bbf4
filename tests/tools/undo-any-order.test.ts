import { lstat, readdir, readFile, readlink, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { executeCall } from "../../src/tools/runtime/execute-call.ts";
import { tools } from "../../src/tools/index.ts";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { createOperations, type OperationCard } from "../../src/tools/undo/operations.ts";
import { prepareCall } from "../../src/tools/runtime/run-tool.ts";
import type { Tool } from "../../src/tools/runtime/tool.ts";
import { sessionRecord } from "../contract/records.ts";
import { createTestStorage } from "../support/test-storage.ts";
import { aWorkspace } from "../support/a-workspace.ts";
import { builtInTools } from "../../src/toolkits/enabled-toolkits.ts";
import { codeTools } from "../../toolkits/code/tools/index.ts";

/** Everything below a folder, by path: modes, bytes and links. */
type Tree = Record<string, string>;

async function treeOf(folder: string, prefix = ""): Promise<Tree> {
  const tree: Tree = {};
  for (const name of (await readdir(folder)).toSorted()) {
    const path = join(folder, name);
    const stats = await lstat(path);
    const mode = (stats.mode & 0o777).toString(8);
    if (stats.isSymbolicLink()) tree[prefix + name] = `link ${await readlink(path)}`;
    else if (stats.isDirectory())
      Object.assign(tree, { [prefix + name]: mode }, await treeOf(path, `${prefix}${name}/`));
    else tree[prefix + name] = `${mode} ${(await readFile(path)).toString("base64")}`;
  }
  return tree;
}

/** What lies at these paths, and below them. */
function partOf(tree: Tree, paths: readonly string[]): Tree {
  const inside = (path: string): boolean => paths.some((root) => path === root || path.startsWith(`${root}/`));
  return Object.fromEntries(Object.entries(tree).filter(([path]) => inside(path)));
}

/** The same with the folders around them: where one has become a file, nothing can be put back into it. */
function surroundingsOf(tree: Tree, paths: readonly string[]): Tree {
  const around = Object.entries(tree).filter(([path]) => paths.some((root) => root.startsWith(`${path}/`)));
  return { ...Object.fromEntries(around), ...partOf(tree, paths) };
}

const pathsOf = ({ path, old_path }: OperationCard): string[] => (old_path === null ? [path] : [old_path, path]);

const path = fc.constantFrom("a.txt", "b", "folder", "folder/b.txt", "folder/sub", "x/y/z", "link", "empty/n");
const content = fc.constantFrom("one\n", "two\n", "one\ntwo\n", "", "\u{1F600}\r\n");
const diff = fc
  .tuple(fc.constantFrom("one", "two"), content)
  .map(([find, text]) => `<<<<<<< SEARCH\n${find}\n=======\n${text}>>>>>>> REPLACE`);
const changes = fc.tuple(fc.constantFrom("one", "two"), content).map(([find, replace]) => [{ find, replace }]);
const of = <Input>(tool: Tool, input: fc.Arbitrary<Input>): fc.Arbitrary<[Tool, Input]> =>
  fc.tuple(fc.constant(tool), input);
/** A tool of a toolkit, where this program has it. */
const ofToolkit = <Input>(name: string, input: fc.Arbitrary<Input>): fc.Arbitrary<[Tool, Input]>[] => {
  const tool = builtInTools()[name];
  return tool === undefined ? [] : [of(tool, input)];
};
/** Every tool that changes files by what is in its arguments. */
const step = fc.oneof(
  of(tools.create_file, fc.record({ path, content })),
  of(tools.update_file, fc.record({ path, content })),
  of(codeTools.write_to_file, fc.record({ path, content })),
  of(codeTools.replace_in_file, fc.record({ path, diff })),
  ...ofToolkit("patch_file", fc.record({ path, changes })),
  ...ofToolkit("rewrite_file", fc.record({ path, content })),
  of(tools.delete_file, fc.record({ path })),
  of(tools.create_folder, fc.record({ path })),
  of(tools.move_file, fc.record({ source: path, destination: path })),
  of(tools.rename_file, fc.record({ path, new_name: fc.constantFrom("a.txt", "c.txt", "b") })),
);

it("undo, in any order, gives back the exact bytes of before or refuses and touches nothing (TOOL-18)", async () => {
  const { signal } = new AbortController();
  const {
    sessions,
    manualCalls: { operations: store },
  } = createTestStorage();
  const ends = { undone: 0, refused: 0 };
  const steps = fc.array(step, { minLength: 2, maxLength: 10 });
  const order = fc.array(fc.nat(), { minLength: 20, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(steps, order, async (given, numbers) => {
      await using workspace = await aWorkspace();
      await sessions.delete("session");
      await sessions.create(sessionRecord("session"));
      const locks = createLocks();
      const operations = createOperations({
        store,
        locks,
        workspace: workspace.root,
        toolkitServices: workspace.context.toolkitServices,
      });
      await workspace.fill({
        "a.txt": "one\ntwo\n",
        "folder/b.txt": "one\n",
        "folder/sub/c.txt": "two\n",
        "empty/": "",
      });
      await symlink("a.txt", join(workspace.root, "link"));
      const now = async (): Promise<Tree> => await treeOf(workspace.root);
      const changed = new Map<string, { before: Tree; after: Tree }>();
      for (const [index, [tool, input]] of given.entries()) {
        const prepared = prepareCall(tool, input);
        if (prepared.kind === "invalid") throw new Error(prepared.result.message);
        const before = await now();
        const context = { ...workspace.context, callId: `m/${index}` };
        const call = { tool, input: prepared.input, context, run_id: "r", message_id: "m" };
        const result = await executeCall(call, { ledger: createMemoryLedger(), locks, operations: store });
        const id = result.operation?.operation_id;
        if (id !== undefined) changed.set(id, { before, after: await now() });
      }
      const open = (await operations.list("session", { limit: 100, offset: 0 })).operations.filter(
        ({ can_undo }) => can_undo,
      );
      expect(open.length).toBe(changed.size);
      // Those of one millisecond come in any order.
      const made = [...changed.keys()];
      open.sort((one, other) => made.indexOf(one.operation_id) - made.indexOf(other.operation_id));
      for (const number of numbers) {
        const card = open.length === 0 ? undefined : open[number % open.length];
        if (card === undefined) return;
        const { before = {}, after = {} } = changed.get(card.operation_id) ?? {};
        const paths = pathsOf(card);
        const found = await now();
        try {
          await operations.undo("session", card.operation_id, signal);
        } catch (error) {
          if (!isAppError(error)) throw error;
          // It is refused for a reason: what it would put back is not as it has left it.
          const left = surroundingsOf(after, paths);
          expect(surroundingsOf(found, paths), `${card.tool}: ${error.message}`).not.toEqual(left);
          expect(await now()).toEqual(found);
          ends.refused += 1;
          continue;
        }
        expect(partOf(await now(), paths), card.tool).toEqual(partOf(before, paths));
        open.splice(open.indexOf(card), 1);
        ends.undone += 1;
      }
    }),
    { numRuns: 150 },
  );
  // Both have come up, often.
  expect(ends.undone).toBeGreaterThan(100);
  expect(ends.refused).toBeGreaterThan(50);
});
