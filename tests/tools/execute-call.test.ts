import { describe, expect, it } from "vitest";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { createMemoryLedger } from "@millrace/engine/storage/memory";
import { executeCall, type CallRuntime, type ToolCall } from "../../src/tools/runtime/execute-call.ts";
import { type ToolHook, toolLog } from "../../src/tools/runtime/hooks.ts";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { failure, success } from "../../src/tools/runtime/result.ts";
import type { Reconciled, Tool, ToolContext } from "../../src/tools/runtime/tool.ts";
import { createLogger } from "@millrace/engine/logger";
import { toolkitParts } from "../support/toolkit-services.ts";
import { plainContext } from "../../src/tools/runtime/tool.ts";

const aTool = (run: Tool["run"], change: Partial<Tool> = {}): Tool => ({
  name: "probe",
  description: "a probe",
  schema: z.object({ item: z.string().optional() }),
  effect: "unsafe",
  timeoutSeconds: 30,
  resources: () => [],
  operation: async () => ({ type: "Query" }),
  run,
  ...change,
});

const aContext = (callId: string, signal = new AbortController().signal): ToolContext =>
  plainContext({
    workspace: "/nowhere",
    toolkitServices: toolkitParts("/nowhere").toolkitServices,
    sessionId: "s",
    callId,
    signal,
  });

function aCall(tool: Tool, callId: string, more: Partial<ToolCall> = {}): ToolCall {
  return { tool, input: {}, context: aContext(callId), run_id: "r", message_id: "m", ...more };
}

const aRuntime = (more: Partial<CallRuntime> = {}): CallRuntime => ({
  ledger: createMemoryLedger(),
  locks: createLocks(),
  ...more,
});

/** A call that begins, has its effect, and then the process is gone: its end is never written. */
async function crashIn(call: ToolCall, runtime: CallRuntime): Promise<CallRuntime> {
  const begun = Promise.withResolvers<void>();
  const run: Tool["run"] = async (input, context) => {
    await call.tool.run(input, context);
    begun.resolve();
    return new Promise(() => undefined);
  };
  void executeCall({ ...call, tool: { ...call.tool, run } }, runtime);
  await begun.promise;
  return { ...runtime, locks: createLocks() };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a call and the ledger", () => {
  it("stores its start and its result, and returns the stored result when repeated", async () => {
    let runs = 0;
    const tool = aTool(async () => success(`run ${++runs}`));
    const runtime = aRuntime();
    expect(await executeCall(aCall(tool, "c"), runtime)).toMatchObject({ message: "run 1" });
    expect(await executeCall(aCall(tool, "c"), runtime)).toMatchObject({ message: "run 1" });
    expect(await runtime.ledger.list("s")).toMatchObject([
      { tool_call_id: "c", run_id: "r", tool: "probe", effect: "unsafe", state: "finished" },
    ]);
  });

  it.each([
    ["pure", [false, true], "run 2"],
    ["idempotent", [false, true], "run 2"],
    ["unsafe", [false], "OUTCOME_UNKNOWN"],
    ["reconcilable", [false], "OUTCOME_UNKNOWN"],
  ] as const)(
    "after a crash treats a %s call that began and never ended by its class",
    async (effect, seen, expected) => {
      const repeated: boolean[] = [];
      const tool = aTool(async (_, context) => success(`run ${repeated.push(context.repeated)}`), { effect });
      const call = aCall(tool, "c");
      const runtime = await crashIn(call, aRuntime());
      const result = await executeCall(call, runtime);
      expect(repeated).toEqual(seen);
      expect([result.message, result.code]).toContain(expected);
    },
  );

  it.each<[string, Reconciled, number, string]>([
    ["done, the found result counts", { kind: "done", result: success("found") }, 1, "found"],
    ["not done, the call is run", { kind: "not_done" }, 2, "run 2"],
    ["unknown, the model gets an error", { kind: "unknown" }, 1, "OUTCOME_UNKNOWN"],
  ])("looks first when a reconcilable call was begun: %s", async (_, found, runs, expected) => {
    let count = 0;
    const reconcile = async () => found;
    const tool = aTool(async () => success(`run ${++count}`), { effect: "reconcilable", reconcile });
    const call = aCall(tool, "c");
    const runtime = await crashIn(call, aRuntime());
    const result = await executeCall(call, runtime);
    expect([result.message, result.code]).toContain(expected);
    expect(count).toBe(runs);
    // What is unknown stays open, so that it can be counted; everything else has its end.
    const state = found.kind === "unknown" ? "started" : "finished";
    expect(await runtime.ledger.list("s")).toMatchObject([{ state }]);
  });

  it("begins nothing, and writes no row, while it waits or after a stop", async () => {
    const end = Promise.withResolvers<void>();
    const holder = aTool(() => end.promise.then(() => success("held")), { resources: () => ["thing"] });
    const waiting = aTool(async () => success("ran"), { name: "waiting", resources: () => ["thing"] });
    const runtime = aRuntime();
    const first = executeCall(aCall(holder, "one"), runtime);
    const stop = new AbortController();
    const second = executeCall(aCall(waiting, "two", { context: aContext("two", stop.signal) }), runtime);
    stop.abort();
    expect(await second).toMatchObject({ errorType: "cancelled" });
    end.resolve();
    await first;
    expect(await runtime.ledger.list("s")).toMatchObject([{ tool_call_id: "one" }]);
  });

  it("throws what the storage throws, and does not run the tool", async () => {
    let runs = 0;
    const tool = aTool(async () => success(`run ${++runs}`));
    const full = () => Promise.reject(new AppError("storage_full", "The disk is full."));
    const runtime = aRuntime({ ledger: { ...createMemoryLedger(), start: full } });
    await expect(executeCall(aCall(tool, "c"), runtime)).rejects.toMatchObject({ code: "storage_full" });
    expect(runs).toBe(0);
  });

  it("does not run what is refused under its locks, but runs a repeated call that was begun with leave", async () => {
    let runs = 0;
    const refuse = async () => failure("denied", "not any more");
    const tool = aTool(async () => success(`run ${++runs}`), { effect: "idempotent" });
    expect(await executeCall(aCall(tool, "c", { refuse }), aRuntime())).toMatchObject({ errorType: "denied" });
    expect(runs).toBe(0);
    const runtime = await crashIn(aCall(tool, "d"), aRuntime());
    expect(await executeCall(aCall(tool, "d", { refuse }), runtime)).toMatchObject({ success: true });
  });
});

describe("several calls at once", () => {
  it("run in the order in which they were made when they touch the same thing, also a reading one after a writing one", async () => {
    const order: string[] = [];
    const slowLedger = createMemoryLedger();
    const start: typeof slowLedger.start = async (call) => {
      // A start of an effect waits for the disk, one without an effect does not.
      if (call.effect !== "pure") for (let index = 0; index < 5; index += 1) await turn();
      return slowLedger.start(call);
    };
    const runtime = aRuntime({ ledger: { ...slowLedger, start } });
    const named = (name: string, effect: Tool["effect"], key: string) =>
      aTool(async () => success(String(order.push(name))), { name, effect, resources: () => [key] });
    const calls = [
      named("write", "unsafe", "write:/w/a"),
      named("read", "pure", "read:/w/a"),
      named("other", "pure", "b"),
    ];
    await Promise.all(calls.map((tool, index) => executeCall(aCall(tool, `c${index}`), runtime)));
    expect(order).toEqual(["other", "write", "read"]);
  });

  it("that are equal and under way in one run have one effect, and each its result in the ledger (QUEUE-02)", async () => {
    let runs = 0;
    const end = Promise.withResolvers<void>();
    const tool = aTool(() => end.promise.then(() => success(`run ${++runs}`)));
    const runtime = aRuntime();
    const inputs = [
      { a: 1, b: 2 },
      { b: 2, a: 1 },
      { a: 1, b: 3 },
    ];
    const all = inputs.map((input, index) => executeCall(aCall(tool, `c${index}`, { input }), runtime));
    await turn();
    end.resolve();
    const results = await Promise.all(all);
    expect(runs).toBe(2);
    expect(results[0]).toEqual(results[1]);
    expect(await runtime.ledger.list("s")).toMatchObject(Array.from({ length: 3 }, () => ({ state: "finished" })));
    expect(await executeCall(aCall(tool, "later", { input: inputs[0] ?? {} }), runtime)).toMatchObject({
      message: "run 3",
    });
  });
});

describe("hooks", () => {
  const watching = (): { hook: ToolHook; seen: string[] } => {
    const seen: string[] = [];
    const hook: ToolHook = {
      name: "watching",
      before: (call) => void seen.push(`before ${call.tool} ${call.call_id}`),
      after: (_, result) => void seen.push(`after ${result.message}`),
      onError: (_, result) => void seen.push(`error ${result.errorType}`),
    };
    return { hook, seen };
  };

  it("see a call before it begins, and its end or its failure", async () => {
    const { hook, seen } = watching();
    const runtime = aRuntime({ hooks: [hook] });
    await executeCall(
      aCall(
        aTool(async () => success(`with ${seen.length} before`)),
        "one",
      ),
      runtime,
    );
    await executeCall(
      aCall(
        aTool(() => Promise.reject(new TypeError("a bug"))),
        "two",
      ),
      runtime,
    );
    expect(seen).toEqual(["before probe one", "after with 1 before", "before probe two", "error execution_failed"]);
  });

  it("see each call once, however often it is tried, and none whose result was known", async () => {
    const { hook, seen } = watching();
    const runtime = aRuntime({ hooks: [hook] });
    let attempts = 0;
    const tool = aTool(async () => (++attempts < 3 ? failure("network", "down") : success("up")), { effect: "pure" });
    const call = aCall(tool, "one");
    await executeCall(call, runtime, { pause: async () => undefined });
    await executeCall(call, runtime);
    expect(seen).toEqual(["before probe one", "after up"]);
  });

  it("that take longer than a stop waits do not let the call begin after it was answered", async () => {
    const stop = new AbortController();
    const isHeld = Promise.withResolvers<void>();
    const isCalled = Promise.withResolvers<void>();
    const slow: ToolHook = {
      name: "slow",
      before: async () => {
        isCalled.resolve();
        await isHeld.promise;
      },
    };
    let runs = 0;
    const tool = aTool(async () => success(`run ${++runs}`), { resources: () => ["probe"] });
    const runtime = aRuntime({ hooks: [slow] });
    const work = executeCall(aCall(tool, "c", { context: aContext("c", stop.signal) }), runtime);
    await isCalled.promise;
    stop.abort();
    expect(await work).toMatchObject({ errorType: "cancelled" });
    isHeld.resolve();
    // The next caller has the lock only when the first call has ended.
    await runtime.locks.withLocks(["probe"], new AbortController().signal, async () => undefined);
    expect(runs).toBe(0);
  });

  it("that fail are reported and do not affect calls; calls run without hooks too", async () => {
    const problems: string[] = [];
    const broken: ToolHook = {
      name: "broken",
      before: () => Promise.reject(new Error("no")),
      after: () => {
        throw new Error("never");
      },
    };
    const runtime = aRuntime({
      hooks: [broken],
      onHookProblem: (hook, error) => problems.push(`${hook}: ${String(error)}`),
    });
    const tool = aTool(async () => success("done"));
    expect(await executeCall(aCall(tool, "c"), runtime)).toMatchObject({ success: true });
    expect(problems).toEqual(["broken: Error: no", "broken: Error: never"]);
    expect(await executeCall(aCall(tool, "c"), aRuntime())).toMatchObject({ success: true });
  });

  it("write a line at the start, at the end and at a failure, each with its level and without arguments (TOOL-14)", async () => {
    const lines: { level: string; text: string }[] = [];
    const logger = createLogger("silent");
    for (const level of ["debug", "info", "error"] as const) {
      logger[level] = (...given: unknown[]) => void lines.push({ level, text: JSON.stringify(given) });
    }
    const runtime = aRuntime({ hooks: [toolLog(logger)] });
    const input = { item: "a secret" };
    await executeCall(
      aCall(
        aTool(async () => success("done")),
        "one",
        { input },
      ),
      runtime,
    );
    await executeCall(
      aCall(
        aTool(async () => failure("not_found", "none")),
        "two",
        { input },
      ),
      runtime,
    );
    expect(
      lines.map(({ level, text }) => [level, z.tuple([z.looseObject({}), z.string()]).parse(JSON.parse(text))[1]]),
    ).toEqual([
      ["debug", "tool_started"],
      ["info", "tool_ended"],
      ["debug", "tool_started"],
      ["error", "tool_failed"],
    ]);
    expect(lines.map(({ text }) => text).join("\n")).not.toContain("a secret");
    expect(lines[3]?.text).toContain('"error_type":"not_found"');
  });
});
