import { access, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isToolMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { approvalHash } from "../../../src/loop/tool-call/approval-request.ts";
import { startWorkflow, type ModelStep, type TestWorkflow, type TestWorkflowOptions } from "../../support/testing.ts";

const open: TestWorkflow[] = [];
afterEach(async () => {
  for (const flow of open.splice(0)) await flow.close();
});

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  const flow = await startWorkflow(options);
  open.push(flow);
  return flow;
}

const deletes = (path: string, id = "call"): ModelStep => ({
  toolCalls: [{ name: "delete_file", arguments: { path }, id }],
});
const exists = (flow: TestWorkflow, path: string): Promise<boolean> =>
  access(join(flow.workspace, path)).then(
    () => true,
    () => false,
  );
const approve = { decisions: [{ type: "approve" }] };
const reject = { decisions: [{ type: "reject", message: "keep it" }] };
const lastResult = async (flow: TestWorkflow) => (await flow.state()).messages.findLast(isToolMessage);

describe("the hash of what is approved", () => {
  const bound = {
    tool: "delete_file",
    args: { path: "a", force: true },
    workspace: "/w",
    operation: { type: "DeleteFolder", path: "a", entries: 2 },
  } as const;

  it("is the same whatever the order of the keys", () => {
    expect(approvalHash({ ...bound, args: { force: true, path: "a" } })).toBe(approvalHash(bound));
  });

  it.each([
    ["tool", { tool: "move_file" }],
    ["arguments", { args: { path: "b", force: true } }],
    ["workspace", { workspace: "/v" }],
    ["target", { operation: { type: "DeleteFolder", path: "b", entries: 2 } as const }],
    ["facts", { operation: { type: "DeleteFolder", path: "a", entries: 3 } as const }],
  ])("is another one for another %s", (_, change) => {
    expect(approvalHash({ ...bound, ...change })).not.toBe(approvalHash(bound));
  });
});

describe("an approval", () => {
  const files = { "old/a.txt": "a" };

  it("is asked for again when the folder holds more by now, under an id of its own", async () => {
    const flow = await start({ files, script: [deletes("old"), { text: "Deleted." }] });
    await flow.send("tidy up");
    const [asked] = await flow.interrupts();
    await writeFile(join(flow.workspace, "old/b.txt"), "new");
    await flow.answer({ [asked?.id ?? ""]: approve });
    const [again] = await flow.interrupts();
    expect(await exists(flow, "old/a.txt")).toBe(true);
    expect(again?.id).not.toBe(asked?.id);
    expect(again?.value).toMatchObject({
      question: expect.stringContaining("2 items in it"),
      problem: expect.stringContaining("has changed"),
    });
    await flow.answer({ [again?.id ?? ""]: approve });
    expect(await exists(flow, "old")).toBe(false);
  });

  it("of the first question does not survive a refusal of the second, even with unchanged facts", async () => {
    const flow = await start({ files, script: [deletes("old"), { text: "Kept." }] });
    await flow.send("tidy up");
    await writeFile(join(flow.workspace, "old/b.txt"), "new");
    await flow.answer(approve);
    await rm(join(flow.workspace, "old/b.txt"));
    await flow.answer(reject);
    expect(await exists(flow, "old/a.txt")).toBe(true);
    expect((await lastResult(flow))?.text).toContain("keep it");
  });

  it("does not run what has changed between the decision and the call", async () => {
    const flow = await start({ files, script: [deletes("old"), { text: "Not done." }] });
    await flow.send("tidy up");
    // The ledger is asked last before a call runs: by then another program has written a file.
    const { ledger } = flow.services;
    const start_ = ledger.start.bind(ledger);
    ledger.start = async (call) => {
      await writeFile(join(flow.workspace, "old/late.txt"), "late");
      return start_(call);
    };
    await flow.answer(approve);
    expect(await exists(flow, "old/a.txt")).toBe(true);
    expect((await lastResult(flow))?.text).toContain("not what was approved");
    expect((await flow.state()).messages.findLast(isToolMessage)?.status).toBe("error");
  });

  it("of edited arguments covers exactly those", async () => {
    const flow = await start({
      files: { ...files, "junk/c.txt": "c" },
      script: [deletes("old"), { text: "Deleted the other." }],
    });
    await flow.send("tidy up");
    const edited = { name: "delete_file", args: { path: "junk" } };
    await flow.answer({ decisions: [{ type: "edit", edited_action: edited }] });
    expect(await flow.interrupts()).toEqual([]);
    expect([await exists(flow, "old/a.txt"), await exists(flow, "junk")]).toEqual([true, false]);
  });
});

describe("a remembered yes", () => {
  const grantOn = (flow: TestWorkflow, path_pattern: string): void => {
    flow.services.grants = async () => [{ tool: "delete_file", path_pattern }];
  };

  it("covers later calls of its tool on paths that match, and no others", async () => {
    const flow = await start({
      files: { "drafts/a.txt": "a", "notes/a.txt": "n", "DRAFTS.txt": "d" },
      script: [deletes("drafts/a.txt"), deletes("notes/a.txt"), { text: "Done." }],
    });
    grantOn(flow, "drafts/**");
    await flow.send("tidy up");
    expect(await exists(flow, "drafts/a.txt")).toBe(false);
    expect(await flow.interrupts()).toMatchObject([{ value: { operation: { path: "notes/a.txt" } } }]);
  });

  it("never covers a folder with something in it", async () => {
    const flow = await start({
      files: { "drafts/old/a.txt": "a" },
      script: [deletes("drafts/old"), { text: "Done." }],
    });
    grantOn(flow, "**");
    await flow.send("tidy up");
    expect(await flow.interrupts()).toMatchObject([{ value: { may_remember: false } }]);
  });

  it("does not follow a link out of its pattern", async () => {
    const flow = await start({ files: { "secret/a.txt": "a" }, script: [deletes("drafts/link/a.txt"), { text: "." }] });
    await mkdir(join(flow.workspace, "drafts"));
    await symlink(join(flow.workspace, "secret"), join(flow.workspace, "drafts/link"));
    grantOn(flow, "drafts/**");
    await flow.send("tidy up");
    expect(await flow.interrupts()).toHaveLength(1);
    expect(await exists(flow, "secret/a.txt")).toBe(true);
  });

  it("does not override a refusal in the same answer", async () => {
    const both: ModelStep = {
      toolCalls: [
        { name: "delete_file", arguments: { path: "drafts/a.txt" }, id: "first" },
        { name: "delete_file", arguments: { path: "drafts/b.txt" }, id: "second" },
      ],
    };
    const flow = await start({ files: { "drafts/a.txt": "a", "drafts/b.txt": "b" }, script: [both, { text: "." }] });
    await flow.send("tidy up");
    const [one, other] = await flow.interrupts();
    grantOn(flow, "drafts/*");
    await flow.answer({ [one?.id ?? ""]: approve, [other?.id ?? ""]: reject });
    expect([await exists(flow, "drafts/a.txt"), await exists(flow, "drafts/b.txt")]).toEqual([false, true]);
  });
});
