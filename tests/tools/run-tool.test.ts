import { afterEach, describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { AppError, type ErrorCode } from "@millrace/engine/errors/errors";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { failure, success, type ToolResult } from "../../src/tools/runtime/result.ts";
import { prepareCall, runTool } from "../../src/tools/runtime/run-tool.ts";
import { plainContext, defineTool, type Tool, type ToolContext } from "../../src/tools/runtime/tool.ts";
import { toolkitParts } from "../support/toolkit-services.ts";

const schema = z.object({
  path: z.string().describe("path of the file"),
  count: z.number().int().min(1).optional().describe("how many"),
  ratio: z.number().optional(),
  force: z.boolean().optional(),
  names: z.array(z.string()).optional(),
  note: z.string().nullable().optional(),
});

function aTool(run: Tool["run"], change: Partial<Tool> = {}): Tool {
  return {
    ...defineTool({
      name: "probe",
      description: "a probe",
      schema,
      effect: "unsafe",
      timeoutSeconds: 30,
      resources: () => ["probe"],
      operation: async () => ({ type: "Query" }),
      run,
      example: { title: "one", body: '{"path": "a"}' },
    }),
    ...change,
  };
}

const probe = aTool(async () => success("done"));
const pure = aTool(async () => success("done"), { effect: "pure" });

function aContext(signal = new AbortController().signal): ToolContext {
  return plainContext({
    workspace: "/nowhere",
    toolkitServices: toolkitParts("/nowhere").toolkitServices,
    sessionId: "s",
    callId: "c",
    signal,
  });
}

describe("prepareCall", () => {
  it.each<[string, unknown, Record<string, unknown>]>([
    ["an object", { path: "a", count: 2 }, { path: "a", count: 2 }],
    ["JSON text", '{"path":"a"}', { path: "a" }],
    ["digits where a number is wanted", { path: "a", count: "5", ratio: "0.5" }, { path: "a", count: 5, ratio: 0.5 }],
    ["true and false as text", { path: "a", force: "True" }, { path: "a", force: true }],
    ["a number where text is wanted", { path: 2026 }, { path: "2026" }],
    ["digits where text is wanted stay text", { path: "007" }, { path: "007" }],
    ["a list as JSON text", { path: "a", names: '["x"]' }, { path: "a", names: ["x"] }],
    ["null for an optional parameter", { path: "a", count: null }, { path: "a" }],
    ["null where null means something", { path: "a", note: null }, { path: "a", note: null }],
    ["a trailing comma", '{"path": "a",}', { path: "a" }],
    ["single quotes", "{'path': 'a'}", { path: "a" }],
    ["a fence around it", '```json\n{"path": "a"}\n```', { path: "a" }],
    ["an unknown parameter is left out", { path: "a", colour: "red" }, { path: "a" }],
  ])("accepts %s", (_, raw, input) => {
    expect(prepareCall(probe, raw)).toEqual({ kind: "ready", input });
  });

  it.each<[string, unknown, ErrorCode, RegExp]>([
    ["nothing", undefined, "missing_parameter", /"path" \(path of the file\): is missing/],
    ["an empty text", "", "missing_parameter", /"path"/],
    ["a parameter under another name", { file: "a" }, "missing_parameter", /no parameter "file"/],
    ["text that is no number", { path: "a", count: "many" }, "invalid_parameter", /"count" \(how many\).*number/],
    ["a number out of range", { path: "a", count: 0 }, "invalid_parameter", /"count".*1/],
    ["a fraction where a whole number is wanted", { path: "a", count: "1.5" }, "invalid_parameter", /"count"/],
    ["an object where text is wanted", { path: {} }, "invalid_parameter", /"path".*string/],
    ["prose", "I would read the file", "invalid_format", /JSON/],
    ["a list", "[1]", "invalid_format", /a list came/],
    ["a number", 5, "invalid_format", /object/],
    ["text cut off in the middle", '{"path": "a", "note": "half of', "invalid_format", /break off/],
  ])("refuses %s", (_, raw, errorType, message) => {
    const prepared = prepareCall(probe, raw);
    expect(prepared).toMatchObject({
      kind: "invalid",
      result: { success: false, errorType, code: errorType.toUpperCase() },
    });
    expect(prepared.kind === "invalid" && prepared.result.content).toMatch(message);
  });

  it("completes text that was cut off only for a tool without effects", () => {
    expect(prepareCall(pure, '{"path": "src/ma')).toEqual({ kind: "ready", input: { path: "src/ma" } });
  });

  it("refuses arguments that are nested too deeply to be compared and stored", () => {
    const open = aTool(async () => success("done"), { schema: z.looseObject({ list: z.unknown() }) });
    const nested = (levels: number) => `{"list":${"[".repeat(levels)}${"]".repeat(levels)}}`;
    expect(prepareCall(open, nested(50))).toMatchObject({ kind: "ready" });
    for (const given of [nested(3_000), JSON.parse(nested(3_000)) as unknown]) {
      expect(prepareCall(open, given)).toMatchObject({
        kind: "invalid",
        result: { errorType: "invalid_format", message: expect.stringContaining("levels") },
      });
    }
  });

  it("shows the example of the tool with an error", () => {
    const prepared = prepareCall(probe, {});
    expect(prepared.kind === "invalid" && prepared.result.content).toContain('{"path": "a"}');
  });

  it("does not take names of Object for parameters", () => {
    expect(prepareCall(probe, '{"path":"a","constructor":"x","__proto__":"y"}')).toEqual({
      kind: "ready",
      input: { path: "a" },
    });
  });
});

describe("runTool", () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  it("gives the result of the tool", async () => {
    const tool = aTool(async (input) => success(`read ${String(input["path"])}`));
    expect(await runTool(tool, { path: "a" }, aContext(), { locks: createLocks() })).toMatchObject({
      message: "read a",
    });
  });

  it.each<[string, unknown, ErrorCode]>([
    ["a bug", new TypeError("x is undefined"), "execution_failed"],
    ["a failure we mean", new AppError("too_large", "too large"), "too_large"],
    ["a missing file", Object.assign(new Error("ENOENT: /secret"), { code: "ENOENT" }), "not_found"],
    ["a forbidden file", Object.assign(new Error("EACCES: /secret"), { code: "EACCES" }), "permission"],
    ["a full disk", Object.assign(new Error("ENOSPC"), { code: "ENOSPC" }), "storage_full"],
    ["what is no error", "oops", "execution_failed"],
  ])("turns %s that was thrown into a result", async (_, thrown, errorType) => {
    const result = await runTool(
      aTool(() => Promise.reject(thrown)),
      {},
      aContext(),
      { locks: createLocks() },
    );
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).not.toContain("/secret");
  });

  it("turns what resources() throws into a result", async () => {
    const tool = aTool(async () => success("done"), {
      resources: () => {
        throw new Error("broken");
      },
    });
    expect(await runTool(tool, {}, aContext(), { locks: createLocks() })).toMatchObject({
      errorType: "execution_failed",
    });
  });

  it("stops a tool at its time limit by its signal", async () => {
    vi.useFakeTimers();
    const seen: AbortSignal[] = [];
    const tool = aTool((_, { signal }) => {
      seen.push(signal);
      return new Promise<ToolResult>(() => undefined);
    });
    const running = runTool(tool, {}, aContext(), { locks: createLocks() });
    await vi.advanceTimersByTimeAsync(29_999);
    expect(seen[0]?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen[0]?.aborted).toBe(true);
    expect(await running).toMatchObject({
      success: false,
      errorType: "timeout",
      message: expect.stringContaining("30"),
    });
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes a time limit that is longer than a timer can hold", async () => {
    vi.useFakeTimers();
    const end = Promise.withResolvers<ToolResult>();
    const running = runTool(
      aTool(() => end.promise),
      {},
      aContext(),
      { locks: createLocks(), timeoutSeconds: 100 * 24 * 3600 },
    );
    await vi.advanceTimersByTimeAsync(24 * 3_600_000);
    end.resolve(success("done"));
    expect(await running).toMatchObject({ success: true });
  });

  it("keeps the locks of a tool that runs on after its time limit, and reports that to waiting calls", async () => {
    vi.useFakeTimers();
    const locks = createLocks();
    const end = Promise.withResolvers<ToolResult>();
    const slow = runTool(
      aTool(() => end.promise),
      {},
      aContext(),
      { locks, timeoutSeconds: 1 },
    );
    await vi.advanceTimersByTimeAsync(1000);
    expect(await slow).toMatchObject({ errorType: "timeout" });
    const blocked = runTool(probe, {}, aContext(), { locks, timeoutSeconds: 1 });
    await vi.advanceTimersByTimeAsync(1000);
    expect(await blocked).toMatchObject({ errorType: "conflict" });
    end.resolve(success("late"));
    expect(await runTool(probe, {}, aContext(), { locks })).toMatchObject({ success: true });
  });

  it.each<[string, Tool["effect"], ErrorCode, number | undefined, number]>([
    ["a pure tool three times", "pure", "network", undefined, 3],
    ["a pure tool as often as it is configured", "pure", "timeout", 1, 2],
    ["a pure tool once when trying again cannot help", "pure", "not_found", undefined, 1],
    ["an idempotent tool once", "idempotent", "network", undefined, 1],
    ["an unsafe tool once", "unsafe", "network", undefined, 1],
  ])("tries %s", async (_, effect, errorType, retries, expected) => {
    let attempts = 0;
    const retried: number[] = [];
    const tool = aTool(
      async () => {
        attempts += 1;
        return failure(errorType, "no luck");
      },
      { effect },
    );
    const running = runTool(tool, {}, aContext(), {
      locks: createLocks(),
      onRetry: (attempt) => retried.push(attempt),
      pause: async () => undefined,
      ...(retries === undefined ? {} : { retries }),
    });
    expect(await running).toMatchObject({ errorType });
    expect(attempts).toBe(expected);
    expect(retried).toEqual(Array.from({ length: expected - 1 }, (__, index) => index + 1));
  });

  it("gives the result of the attempt that works", async () => {
    let attempts = 0;
    const tool = aTool(async () => (++attempts === 2 ? success("at last") : failure("server", "down")), {
      effect: "pure",
    });
    const result = await runTool(tool, {}, aContext(), { locks: createLocks(), pause: async () => undefined });
    expect(result).toMatchObject({ success: true, message: "at last" });
  });

  it("answers a stop at once, before, while waiting, while running and between attempts", async () => {
    const cancelled = { success: false, errorType: "cancelled" };
    expect(await runTool(probe, {}, aContext(AbortSignal.abort()), { locks: createLocks() })).toMatchObject(cancelled);

    const running = new AbortController();
    const deaf = aTool(() => {
      running.abort();
      return new Promise<ToolResult>(() => undefined);
    });
    const locks = createLocks();
    expect(await runTool(deaf, {}, aContext(running.signal), { locks })).toMatchObject(cancelled);

    const waiting = new AbortController();
    const blocked = runTool(probe, {}, aContext(waiting.signal), { locks });
    waiting.abort();
    expect(await blocked).toMatchObject(cancelled);

    const pausing = new AbortController();
    const failing = aTool(async () => failure("network", "down"), { effect: "pure" });
    const stopped = runTool(failing, {}, aContext(pausing.signal), {
      locks: createLocks(),
      onRetry: () => pausing.abort(),
    });
    expect(await stopped).toMatchObject(cancelled);
  });

  it("runs at most three calls of a session at once", async () => {
    const locks = createLocks();
    const end = Promise.withResolvers<ToolResult>();
    let begun = 0;
    const tool = aTool(
      () => {
        begun += 1;
        return end.promise;
      },
      { resources: () => [] },
    );
    const all = Array.from({ length: 5 }, () => runTool(tool, {}, aContext(), { locks }));
    await new Promise<void>((resolve) => setImmediate(resolve));
    expect(begun).toBe(3);
    end.resolve(success("done"));
    await Promise.all(all);
    expect(begun).toBe(5);
  });
});

describe("the rate of tool calls", () => {
  it("is asked before each attempt, and a stop while waiting leaves the tool alone (QUEUE-04)", async () => {
    const order: string[] = [];
    let tries = 0;
    const flaky = aTool(
      async () => {
        order.push("run");
        return (tries += 1) === 1 ? failure("network", "away") : success("done");
      },
      { effect: "pure" },
    );
    const rate = { acquire: async () => void order.push("acquire") };
    const pause = async (): Promise<void> => undefined;
    expect(await runTool(flaky, {}, aContext(), { locks: createLocks(), rate, pause })).toMatchObject({
      success: true,
    });
    expect(order).toEqual(["acquire", "run", "acquire", "run"]);

    const stop = new AbortController();
    const waiting = { acquire: (signal: AbortSignal) => Promise.reject(signal.reason) };
    stop.abort(new AppError("cancelled", "stopped"));
    const context = { ...aContext(), signal: stop.signal };
    const result = await runTool(flaky, {}, context, { locks: createLocks(), rate: waiting });
    expect(result).toMatchObject({ errorType: "cancelled" });
    expect(order).toHaveLength(4);
  });
});
