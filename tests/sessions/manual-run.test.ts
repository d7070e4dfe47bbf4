import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { messagesIn } from "@millrace/engine/sessions/messages/conversation";
import type { ManualCall } from "../../src/sessions/manual/manual-call.ts";
import { createManualTools, type ManualTools } from "../../src/sessions/manual/manual-run.ts";
import { readValues } from "@millrace/engine/sessions/sessions";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { success } from "../../src/tools/runtime/result.ts";
import type { Tool } from "../../src/tools/runtime/tool.ts";
import { createToolCounter } from "../../src/tools/runtime/hooks.ts";
import { createHarness, createGate, never, plainGraph, request, type Harness } from "../runs/fixtures.ts";
import { toolkitParts } from "../support/toolkit-services.ts";

let bench: Harness;
let manual: ManualTools;
let sent: number;
let gate: ReturnType<typeof createGate> | undefined;
beforeEach(async () => {
  bench = await createHarness({ plain: plainGraph() });
  sent = 0;
  gate = undefined;
  const letter: Tool = {
    name: "send_letter",
    description: "sends a letter",
    schema: z.object({ to: z.string() }),
    effect: "unsafe",
    timeoutSeconds: 30,
    resources: () => [],
    operation: async () => ({ type: "SimpleModify" }),
    run: async (_, { signal }) => {
      sent += 1;
      await gate?.pass(signal);
      return success(`letter ${sent}`);
    },
  };
  const { storage } = bench;
  const services = {
    ledger: storage.ledger,
    ...toolkitParts("/", storage.tasks),
    workspace: "/",
    locks: createLocks(),
    defaultModel: "offline",
    contextLimit: 1000,
    loadModel: () => {
      throw new Error("no model is asked");
    },
    toolSources: [{ tools: async () => [letter], close: async () => undefined }],
  };
  manual = createManualTools({ ...bench, services, stores: storage.manualCalls, counter: createToolCounter() });
});
afterEach(() => bench.runs.drain(0));

const send = (to: string, call: Partial<ManualCall> = {}) => {
  const submission = { key: "once", hash: `hash-of-${to}`.padEnd(64, "0") };
  return manual.run(bench.session.session_id, { tool: "send_letter", args: { to }, submission, ...call }, never);
};
const says = async (): Promise<string[]> =>
  messagesIn(await readValues(bench.storage, bench.session.session_id)).map(({ text }) => text);

describe("a call by hand under a key", () => {
  it("that is sent again while it runs waits, has no second effect and returns the same end", async () => {
    gate = createGate();
    const both = [send("ann"), send("ann")];
    await gate.arrived;
    gate.open();
    const [first, second] = await Promise.all(both);
    expect(first).toMatchObject({ kind: "ran", result: { message: "letter 1" } });
    expect(second).toEqual(first);
    expect(sent).toBe(1);
    expect((await says()).at(-1)).toContain("letter 1");
  });

  it("is refused when it is another call, and begins nothing", async () => {
    await send("ann");
    await expect(send("bob")).rejects.toMatchObject({ code: "conflict" });
    expect(sent).toBe(1);
    expect(await says()).toHaveLength(3);
  });

  it("writes to the history when it is sent again, where the first time that could not be done", async () => {
    // As on a disk that is full, or in a server that is killed.
    bench.storage.beforePut = () => {
      throw new Error("the disk is full");
    };
    await expect(send("ann")).rejects.toThrow("the disk is full");
    bench.storage.beforePut = undefined;
    const again = await send("ann");
    expect(again).toMatchObject({ kind: "ran", result: { message: "letter 1" } });
    expect(sent).toBe(1);
    const ids = messagesIn(await readValues(bench.storage, bench.session.session_id)).map(({ id }) => id);
    expect(ids).toEqual(again.kind === "ran" ? again.message_ids : []);
    expect(await send("ann")).toEqual(again);
    expect(await says()).toHaveLength(3);
  });

  it("says that no message records it while a run has begun meanwhile, and records it afterwards", async () => {
    gate = createGate();
    const sending = send("ann");
    await gate.arrived;
    const run = await bench.runs.start(bench.session, request("plain", { after_seconds: 3600 }));
    gate.open();
    expect(await sending).toMatchObject({ kind: "ran", message_ids: [] });
    expect(await send("ann")).toMatchObject({ kind: "ran", message_ids: [], result: { message: "letter 1" } });
    await bench.runs.cancel(run.run_id, { action: "interrupt", wait: true });
    expect(await send("ann")).toMatchObject({ message_ids: { length: 3 } });
    expect(sent).toBe(1);
    expect((await says()).at(-1)).toContain("letter 1");
  });
});
