import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { callInTurn, plainPath, readTurn } from "../../src/guardrails/turn.ts";
import { recordedTools } from "./corpus/recording.ts";

const about = { userRequest: "Read a.", tools: recordedTools };

function reply(id: string, name: string, args: Record<string, unknown> = {}): AIMessage {
  return new AIMessage({ content: "", tool_calls: [{ id, name, args }] });
}

function result(id: string, content: string, notes: Record<string, unknown> = {}): ToolMessage {
  const status = notes["errorType"] === undefined ? "success" : "error";
  return new ToolMessage({ tool_call_id: id, content, status, additional_kwargs: notes });
}

describe("a turn", () => {
  it("is read off the messages: replies, calls and their results", () => {
    const turn = readTurn(
      [
        reply("1", "read_file", { path: "./a.txt" }),
        result("1", "alpha", { code: "OK" }),
        new HumanMessage("Go on."),
        new AIMessage({
          content: "Done.",
          additional_kwargs: { forced_by: "file_move", reasoning_content: "I think so." },
        }),
      ],
      about,
    );
    expect(turn.userRequest).toBe("Read a.");
    expect(turn.rounds).toEqual([
      {
        text: "",
        reasoning: "",
        forced: false,
        calls: [
          {
            id: "1",
            tool: "read_file",
            args: { path: "./a.txt" },
            path: "a.txt",
            polling: false,
            changes: false,
            outcome: "success",
            result: "alpha",
            metrics: null,
          },
        ],
      },
      { text: "Done.", reasoning: "I think so.", forced: true, calls: [] },
    ]);
  });

  it.each([
    [{ errorType: "not_found" }, "failed"],
    [{ errorType: "blocked" }, "refused"],
    [{ errorType: "denied" }, "refused"],
    [{ errorType: "blocked", code: "TOO_MANY_CALLS" }, "open"],
    [{}, "success"],
  ])("sees in a result with %j that the call is %s", (notes, outcome) => {
    const { rounds } = readTurn([reply("1", "read_file"), result("1", "text", notes)], about);
    expect(rounds[0]?.calls[0]?.outcome).toBe(outcome);
  });

  it("leaves a call without a result open, also when the same messages are read again with it", () => {
    const asked = reply("1", "read_file");
    expect(readTurn([asked], about).rounds[0]?.calls[0]?.outcome).toBe("open");
    expect(readTurn([asked, result("1", "text")], about).rounds[0]?.calls[0]?.outcome).toBe("success");
    expect(readTurn([asked], about).rounds[0]?.calls[0]?.outcome).toBe("open");
  });

  it("gives a call the result that follows it, when a server uses an id again", () => {
    const messages = [reply("1", "read_file"), result("1", "first"), reply("1", "read_file"), result("1", "second")];
    expect(readTurn(messages, about).rounds.map(({ calls }) => calls[0]?.result)).toEqual(["first", "second"]);
  });

  it("takes the metrics that a tool has reported, and nothing that is none", () => {
    const metricsOf = (metrics: unknown): unknown =>
      readTurn([reply("1", "run_simulation"), result("1", "", { metrics })], about).rounds[0]?.calls[0]?.metrics;
    expect(metricsOf({ gain: 2 })).toEqual({ gain: 2 });
    expect(metricsOf({ gain: "much" })).toBeNull();
  });

  it("knows of a tool whether it polls and whether it changes something", () => {
    expect(callInTurn("job_status", {}, recordedTools)).toMatchObject({ polling: true, changes: false });
    expect(callInTurn("move_file", { source: "a/./b" }, recordedTools)).toMatchObject({ changes: true, path: "a/b" });
    expect(callInTurn("nobody_knows", {}, recordedTools)).toMatchObject({ polling: false, changes: false, path: null });
  });

  it.each([
    ["./a//b/", "a/b"],
    [" a\\b ", "a/b"],
    ["./", "."],
  ])("has one spelling for the path %j", (path, plain) => {
    expect(plainPath(path)).toBe(plain);
  });
});
