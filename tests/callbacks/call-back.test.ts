import { afterEach, describe, expect, it } from "vitest";
import { type Callback, type CallbackPoint, createCallbackInvoker } from "../../src/callbacks/callback.ts";
import { callbackHook } from "../../src/tools/runtime/hooks.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { startStopBench, type StopBench } from "../runs/stop/stop-bench.ts";

let bench: StopBench | undefined;
afterEach(async () => {
  await bench?.close();
  bench = undefined;
});

const inRun = { session_id: "s", run_id: "r" };

describe("callbacks of one point", () => {
  it("are all called in order, and what one throws or rejects with is only logged", async () => {
    const called: string[] = [];
    const problems: object[] = [];
    const failing: Callback[] = [
      {
        name: "throws",
        conversation_start() {
          called.push("throws");
          throw new Error("at once");
        },
      },
      {
        name: "rejects",
        async conversation_start() {
          called.push("rejects");
          await Promise.resolve();
          throw new Error("later");
        },
      },
      { name: "elsewhere", conversation_end: () => void called.push("elsewhere") },
      { name: "last", conversation_start: ({ run_id }) => void called.push(`last ${run_id}`) },
    ];
    const invokeCallbacks = createCallbackInvoker(failing, (problem) => problems.push(problem));
    invokeCallbacks("conversation_start", inRun);
    expect(called).toEqual(["throws", "rejects", "last r"]);
    await expect.poll(() => problems).toHaveLength(2);
    expect(problems).toMatchObject([
      { callback: "throws", point: "conversation_start", err: { message: "at once" } },
      { callback: "rejects", point: "conversation_start", err: { message: "later" } },
    ]);
  });
});

/** A callback that records every point it is called at, with what distinguishes it from others. */
function recorder(): { callback: Callback; points: string[] } {
  const points: string[] = [];
  const at =
    (point: CallbackPoint) =>
    (about: object): void => {
      const more = Object.entries(about).filter(([key]) => ["tool", "tool_name", "status", "success"].includes(key));
      points.push([point, ...more.map(([, value]) => String(value))].join(" "));
    };
  return {
    points,
    callback: {
      name: "recorder",
      conversation_start: at("conversation_start"),
      conversation_end: at("conversation_end"),
      pre_conversation_resumed: at("pre_conversation_resumed"),
      post_conversation_resumed: at("post_conversation_resumed"),
      api_request_start: at("api_request_start"),
      api_request_end: at("api_request_end"),
      tool_generated_started: at("tool_generated_started"),
      tool_generated_end: at("tool_generated_end"),
      pre_tool_call: at("pre_tool_call"),
      post_tool_call: at("post_tool_call"),
    },
  };
}

describe("a run calls back (EVENT-03)", () => {
  const deleting: ModelStep = { toolCalls: [{ name: "delete_file", arguments: { path: "old" } }] };

  it.each([[["messages-tuple", "custom", "values"]], [["values"]]])(
    "at every point it comes to, whatever its readers have asked for: %j",
    async (stream_mode) => {
      const { callback, points } = recorder();
      const invokeCallbacks = createCallbackInvoker([callback], ({ err }) => expect.unreachable(String(err)));
      bench = await startStopBench({
        files: { "old/a": "1" },
        script: [deleting, { text: "Gone." }],
        invokeCallbacks,
        hooks: [callbackHook(invokeCallbacks)],
      });
      await bench.finish("clean up the old things, please", { stream_mode });
      const asking = ["api_request_start", "api_request_end"];
      const written = ["tool_generated_started delete_file", "tool_generated_end delete_file"];
      expect(points.toSorted()).toEqual(
        ["conversation_start", ...asking, ...written, "conversation_end success"].toSorted(),
      );
      expect(points.indexOf(written[0] ?? "")).toBeLessThan(points.indexOf(written[1] ?? ""));
      points.length = 0;
      await bench.finish("", { input: null, command: { resume: true }, stream_mode });
      expect(points).toEqual([
        "pre_conversation_resumed",
        "post_conversation_resumed",
        "pre_tool_call delete_file",
        "post_tool_call delete_file true",
        ...asking,
        "conversation_end success",
      ]);
    },
  );

  it("also where the model fails", async () => {
    const { callback, points } = recorder();
    const invokeCallbacks = createCallbackInvoker([callback], ({ err }) => expect.unreachable(String(err)));
    bench = await startStopBench({ script: [{ fault: { kind: "status", status: 401 } }], invokeCallbacks });
    await bench.finish("tell me something, my friend");
    expect(points).toEqual(["conversation_start", "api_request_start", "api_request_end", "conversation_end error"]);
  });
});
