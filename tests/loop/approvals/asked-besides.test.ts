import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import type { ScriptedToolCall } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const reading = ({ arguments: given }: ScriptedToolCall): ScriptedToolCall => ({
  name: "read_file",
  arguments: { path: typeof given === "object" ? (given["path"] ?? "notes.txt") : "notes.txt" },
});

/** What a person is asked about one call, when the operator has marked files. */
async function askedAbout(
  call: ScriptedToolCall,
  besides: { criticalFiles?: string[] },
  prepare?: (flow: TestWorkflow) => Promise<unknown>,
): Promise<unknown[]> {
  running = await startWorkflow({
    files: { "reports/q1.txt": "1", "notes.txt": "2" },
    // What was not read is not written over at all.
    script: [{ toolCalls: [reading(call)] }, { toolCalls: [call] }, { text: "Done." }],
  });
  Object.assign(running.services, besides);
  await prepare?.(running);
  await running.send("put the things in order, please");
  return (await running.interrupts()).map(({ value }) => value);
}

const writing = (path: string): ScriptedToolCall => ({ name: "update_file", arguments: { path, content: "new" } });

describe("files that the operator has marked (CONF-04)", () => {
  const besides = { criticalFiles: ["reports/**/*.txt"] };

  it.each<[string, ScriptedToolCall, boolean]>([
    ["a marked file is written", writing("reports/q1.txt"), true],
    ["its name is written otherwise", writing("./reports//q1.txt"), true],
    ["another file is written", writing("notes.txt"), false],
    ["a marked file is read", { name: "read_file", arguments: { path: "reports/q1.txt" } }, false],
    ["a new one is made", { name: "create_file", arguments: { path: "reports/q2.txt", content: "" } }, true],
    ["it is moved away", { name: "move_file", arguments: { source: "reports/q1.txt", destination: "q1.txt" } }, true],
    [
      "one is moved there",
      { name: "move_file", arguments: { source: "notes.txt", destination: "reports/n.txt" } },
      true,
    ],
  ])("when %s", async (_, call, isAsked) => {
    const asked = await askedAbout(call, besides);
    expect(asked.length > 0).toBe(isAsked);
    if (isAsked) expect(asked).toMatchObject([{ operation: { type: "ModifyCriticalFile" } }]);
  });

  it("are not hidden by a link", async () => {
    const asked = await askedAbout(writing("link.txt"), besides, ({ workspace }) =>
      symlink(join(workspace, "reports"), join(workspace, "shelf")),
    );
    expect(asked).toEqual([]);
    await running?.close();
    const through = await askedAbout(writing("shelf/q1.txt"), besides, ({ workspace }) =>
      symlink(join(workspace, "reports"), join(workspace, "shelf")),
    );
    expect(through).toMatchObject([{ operation: { type: "ModifyCriticalFile" } }]);
  });
});

describe("another extension (CONF-04)", () => {
  it.each<[string, ScriptedToolCall, boolean]>([
    ["by a rename", { name: "rename_file", arguments: { path: "notes.txt", new_name: "notes.sh" } }, true],
    ["by a move", { name: "move_file", arguments: { source: "notes.txt", destination: "a/notes.sh" } }, true],
    ["not at all", { name: "move_file", arguments: { source: "notes.txt", destination: "a/other.TXT" } }, false],
  ])("%s", async (_, call, isAsked) => {
    const asked = await askedAbout(call, {});
    expect(asked.length > 0).toBe(isAsked);
    if (isAsked) expect(asked).toMatchObject([{ question: expect.stringContaining("another extension") }]);
  });
});
