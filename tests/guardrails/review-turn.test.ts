import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Finding } from "../../src/guardrails/finding.ts";
import { noteOf, reviewCall, reviewTurn } from "../../src/guardrails/review-turn.ts";
import { callKey, similarKey } from "../../src/guardrails/signature.ts";
import { callInTurn, readTurn, type Turn } from "../../src/guardrails/turn.ts";
import {
  call,
  messagesOf,
  oneByOne,
  recordedTools,
  type RecordedCall,
  type RecordedRound,
} from "./corpus/recording.ts";

const limits = { same_failure_limit: 2, stagnation_threshold: 3 };
const editFails = call("edit_file", { path: "src/a.ts", old_string: "x" }, "old_string not found", {
  failed: "not_found",
});
const read = (path: string) => call("read_file", { path }, `text of ${path}`);

function turnOf(rounds: RecordedRound[]): Turn {
  const messages: BaseMessage[] = rounds.flatMap((round, index) =>
    messagesOf(
      round,
      index,
      (round.calls ?? []).map(({ result, failed, metrics }) => ({
        content: result,
        code: failed === undefined ? "OK" : "FAILED",
        ...(failed === undefined ? {} : { errorType: failed }),
        ...(metrics === undefined ? {} : { metrics }),
      })),
    ),
  );
  return readTurn(messages, { userRequest: "Do it.", tools: recordedTools });
}

function after(calls: RecordedCall[]): Finding[] {
  return reviewTurn(turnOf(oneByOne(calls)), limits);
}

function verdictOn(next: RecordedCall, calls: RecordedCall[], given = limits): Finding | null {
  return reviewCall(turnOf(oneByOne(calls)), callInTurn(next.tool, next.args, recordedTools), given);
}

describe("the same failure", () => {
  it("is noted after two and blocked before the third, with what to do instead", () => {
    expect(verdictOn(editFails, [editFails])).toBeNull();
    expect(after([editFails, editFails])).toMatchObject([{ rule: "same_failure", stage: "warn" }]);
    const block = verdictOn(editFails, [editFails, editFails]);
    expect(block).toMatchObject({ rule: "same_failure", stage: "block" });
    expect(block?.reason).toContain("edit_file on src/a.ts has failed 2 times");
    expect(block?.suggestions.join("\n")).toMatch(
      /current content of src\/a\.ts[\s\S]*as a whole[\s\S]*path is right/u,
    );
  });

  it("is another one with other parameters, and the same with its keys in another order", () => {
    const other = { ...editFails, args: { path: "src/a.ts", old_string: "y" } };
    expect(verdictOn(other, [editFails, editFails])).toBeNull();
    const turned = { ...editFails, args: { old_string: "x", path: "src/a.ts" } };
    expect(verdictOn(turned, [editFails, editFails])).not.toBeNull();
  });

  it("is cleared by a success on that file, not by one on another", () => {
    expect(verdictOn(editFails, [editFails, editFails, read("src/a.ts")])).toBeNull();
    expect(verdictOn(editFails, [editFails, editFails, read("src/b.ts")])).not.toBeNull();
  });

  it("is allowed as often as the run says", () => {
    const generous = { ...limits, same_failure_limit: 4 };
    expect(verdictOn(editFails, [editFails, editFails, editFails], generous)).toBeNull();
    expect(verdictOn(editFails, [editFails, editFails, editFails, editFails], generous)).not.toBeNull();
  });

  it("waits for a repair that the same reply asks for", () => {
    const fails = [...oneByOne([editFails, editFails])];
    const repair = call("create_file", { path: "src/a.ts", content: "x" }, "");
    const asked = messagesOf({ calls: [repair, editFails] }, 2, []);
    const past = fails.flatMap((round, index) =>
      messagesOf(round, index, [{ content: "no", code: "FAILED", errorType: "not_found" }]),
    );
    const turn = readTurn([...past, ...asked], { userRequest: "", tools: recordedTools });
    expect(reviewCall(turn, callInTurn(editFails.tool, editFails.args, recordedTools), limits)).toBeNull();
  });
});

describe("the stages", () => {
  it("are a note, then a block, then the end", () => {
    const a = read("a");
    expect(after([a, a])).toEqual([]);
    expect(after([a, a, a])).toMatchObject([{ rule: "repeated_call", stage: "warn" }]);
    expect(verdictOn(a, [a, a, a])).toBeNull();
    expect(verdictOn(a, [a, a, a, a])).toMatchObject({ rule: "repeated_call", stage: "block" });
    const blocked = call("read_file", { path: "a" }, '{"blocked":true}', { failed: "denied" });
    expect(after([a, a, a, a, blocked, blocked])[0]).toMatchObject({ rule: "repeated_call", stage: "finish" });
  });

  it("report nothing of a loop that the model has left", () => {
    expect(after([read("a"), read("a"), read("a"), read("b")])).toEqual([]);
    expect(after([editFails, editFails, read("b")])).toEqual([]);
  });

  it("leave every other call alone while a loop is blocked", () => {
    const a = read("a");
    expect(verdictOn(read("b"), [a, a, a, a])).toBeNull();
  });

  it("end a turn of which three replies asked only for blocked calls", () => {
    const blocked = (path: string) => call("read_file", { path }, '{"blocked":true}', { failed: "denied" });
    expect(after([blocked("a"), blocked("b")])).toEqual([]);
    expect(after([blocked("a"), blocked("b"), blocked("c")])).toMatchObject([{ stage: "finish" }]);
  });
});

describe("stagnation", () => {
  const sets = (name: string, values: number[]) =>
    values.map((value, at) => call("run_simulation", { at }, `run ${at}`, { metrics: { [name]: value } }));

  it.each([
    ["gain_db", [18, 18, 18], true],
    ["gain_db", [18, 19, 18], true],
    ["gain_db", [18, 18, 18.5], false],
    ["gain_db", [18, 18], false],
    ["error_rate", [3, 3.1, 3.2], true],
    ["error_rate", [3, 3, 2.9], false],
    ["responseTime", [3, 3, 2.9], false],
    ["误差", [3, 3, 2.9], false],
    ["gain_db", [10, 18, 18, 18], true],
    ["gain_db", [-3, -3, -2], false],
  ])("of %s in %j is found: %s", (name, values, found) => {
    expect(after(sets(name, values)).map(({ rule }) => rule)).toEqual(found ? ["stagnation"] : []);
  });

  it("is a note with the current values and advice", () => {
    const note = after(sets("gain_db", [18.5, 18.5, 18.5]))
      .map((finding) => noteOf(finding))
      .join("\n");
    expect(note).toContain("over the last 3 results. Current metrics: gain_db 18.5.");
    expect(note).toMatch(/another direction[\s\S]*goal[\s\S]*other parameters/u);
  });
});

describe("calls that are nearly the same", () => {
  const key = (tool: string, args: Record<string, unknown>): string =>
    similarKey(callInTurn(tool, args, recordedTools));

  it.each([
    [{ query: "Annual report" }, { query: " report  ANNUAL." }],
    [
      { query: "x", limit: 5 },
      { query: "x", limit: 50 },
    ],
    [
      { query: "x", sites: ["a", "b"] },
      { query: "x", sites: ["b", "a"] },
    ],
    [{ query: "x" }, { query: "x", site: "" }],
    [{ query: "./src//x" }, { query: "src/x/" }],
  ])("%j and %j", (one, other) => {
    expect(key("web_search", one)).toBe(key("web_search", other));
  });

  it.each([
    [
      { query: "x", page: 1 },
      { query: "x", page: 2 },
    ],
    [
      { query: "x", offset: 0 },
      { query: "x", offset: 50 },
    ],
    [{ query: "part 1" }, { query: "part 2" }],
    [{ query: "x" }, { query: "y" }],
  ])("are not %j and %j", (one, other) => {
    expect(key("web_search", one)).not.toBe(key("web_search", other));
  });

  it("are never those of which one changes more", () => {
    expect(key("process_batch", { count: 1 })).not.toBe(key("process_batch", { count: 2 }));
  });
});

describe("the rules", () => {
  const anyArgs = fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 });

  it("take the same arguments for the same, whatever the order of their keys", () => {
    fc.assert(
      fc.property(anyArgs, (args) => {
        const turned = Object.fromEntries(Object.entries(args).toReversed());
        expect(callKey({ tool: "t", args: turned })).toBe(callKey({ tool: "t", args }));
      }),
    );
  });

  it("keep nothing between two reviews, and stand any turn", () => {
    const anyCall = fc.record({
      tool: fc.constantFrom("read_file", "edit_file", "run_simulation", "job_status", "move_file", "unknown"),
      args: anyArgs,
      result: fc.string(),
      failed: fc.constantFrom("not_found" as const, "denied" as const),
      metrics: fc.dictionary(fc.string(), fc.double()),
    });
    const anyRound = fc.record({ text: fc.string(), forced: fc.boolean(), calls: fc.array(anyCall, { maxLength: 3 }) });
    fc.assert(
      fc.property(fc.array(anyRound, { maxLength: 8 }), (rounds) => {
        const turn = turnOf(rounds);
        expect(reviewTurn(turn, limits)).toEqual(reviewTurn(turnOf(rounds), limits));
        const next = callInTurn("read_file", {}, recordedTools);
        expect(reviewCall(turn, next, limits)).toEqual(reviewCall(turnOf(rounds), next, limits));
      }),
      { numRuns: 200 },
    );
  });
});
