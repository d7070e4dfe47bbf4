import { describe, expect, it } from "vitest";
import { needsApproval, confirmationOf } from "../../src/guardrails/rules/needs-approval.ts";
import { tools } from "../../src/tools/index.ts";
import type { Operation, Tool } from "../../src/tools/runtime/tool.ts";
import { aWorkspace } from "../support/a-workspace.ts";

const files = {
  "a.txt": "1",
  "package.json": "{}",
  "folder/b.txt": "2",
  "long.txt": "line\n".repeat(20),
  ".git/config": "x",
  "empty/": "",
  "a_sim.json": "{}",
  "a_plot.svg": "x",
};
const paths = [...Object.keys(files), "folder", "missing.txt", ".git/new", "../outside", "/etc/passwd", ""];
const inputs = paths.flatMap((path) =>
  [path, "a.md", ".gitignore", "folder/c.txt"].map((other) => ({
    path,
    circuit: path,
    content: "x",
    edits: [{ old_string: "line\n", new_string: "", replace_all: true }],
    diff: `<<<<<<< SEARCH\n${"line\n".repeat(15)}=======\n>>>>>>> REPLACE\n`,
    changes: [{ find: "line\n".repeat(20), replace: "" }],
    source: path,
    destination: other,
    new_name: other,
    command: path,
    requires_approval: false,
  })),
);

describe("the kinds of work that a tool names", () => {
  it.each(Object.values(tools).map((tool): [string, Tool] => [tool.name, tool]))(
    "hold whatever %s turns out to do",
    async (_, tool) => {
      await using workspace = await aWorkspace();
      await workspace.fill(files);
      expect(tool.kinds?.length).toBeGreaterThan(0);
      const found = new Set<Operation["type"]>();
      for (const isAllowed of [false, true]) {
        for (const input of inputs) {
          const document = { path: "a.md", turn: "m", isEditable: isAllowed, text: async () => "y" };
          const extraApprovals = { criticalFiles: [], deletedTasks: isAllowed };
          const context = { ...workspace.context, extraApprovals, conversation: { document } };
          found.add((await tool.operation(input, context)).type);
        }
      }
      expect([...found].filter((kind) => tool.kinds?.includes(kind) !== true)).toEqual([]);
      // Whatever is named does come up, so that the list promises nothing else.
      expect((tool.kinds ?? []).filter((kind) => !found.has(kind))).toEqual([]);
    },
  );
});

describe("the confirmation rule as clients see it", () => {
  const asks = (operation: Operation): boolean =>
    needsApproval({ tool: tools.read_file, input: {}, operation, userRequest: "", requiresConfirm: false }).kind ===
    "ask";

  it.each<[Operation, Operation | null]>([
    [{ type: "DeleteFile", path: "a" }, null],
    [{ type: "DeleteFolder", path: "a", entries: 0 }, null],
    [{ type: "ModifyCriticalFile", path: "a" }, null],
    [{ type: "HighRiskOperation", what: "a" }, null],
    [
      { type: "BatchOperation", count: 11 },
      { type: "BatchOperation", count: 10 },
    ],
    [{ type: "IrreversibleOperation", path: "a", overwrites: true }, null],
    [{ type: "IrreversibleOperation", path: "a", overwrites: false }, null],
  ])("is the rule: %o is asked about", (asked, harmless) => {
    expect(asks(asked)).toBe(true);
    expect(confirmationOf[asked.type] === "always").toBe(harmless === null);
    if (harmless !== null) expect(asks(harmless)).toBe(false);
  });

  it.each(["Query", "Create", "SimpleModify"] as const)("is the rule: %s is never asked about", (type) => {
    expect(confirmationOf[type]).toBe("never");
    expect(asks({ type })).toBe(false);
  });
});
