import type { StateSnapshot } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { withInterruptId, unusedAnswers } from "@millrace/engine/runs/status";
import type { Session } from "@millrace/engine/storage/records";

const [first, second] = ["1".repeat(32), "2".repeat(32)];
type Open = { asked?: string[]; inside?: Open[] };

/** A snapshot with tasks that ask these questions, and what stands inside of them. */
function snapshot(open: Open[]): Pick<StateSnapshot, "tasks"> {
  const tasks = open.map(({ asked = [], inside }, index) => ({
    id: String(index),
    name: "task",
    interrupts: asked.map((id) => ({ id, value: null })),
    ...(inside === undefined ? {} : { state: snapshot(inside) }),
  }));
  // Only what is read of a snapshot.
  return { tasks } as unknown as StateSnapshot;
}

describe("the answers of a run that a crash has cut off", () => {
  it.each<[string, unknown, Open[], unknown]>([
    ["one that no question has taken", { [first]: "yes" }, [{ asked: [first] }], { [first]: "yes" }],
    ["of two, the one that is left", { [first]: 1, [second]: 2 }, [{ asked: [second] }], { [second]: 2 }],
    ["none when the step asks another question", { [first]: "yes" }, [{ asked: [second] }], null],
    [
      "none when an inner step has taken it, whatever the outer one still shows",
      { [first]: "yes" },
      [{ asked: [first], inside: [{ asked: [second] }] }],
      null,
    ],
    ["none when nothing is asked", { [first]: "yes" }, [], null],
    ["none of an answer that names no question", "yes", [{ asked: [first] }], null],
  ])("are %s", (_name, resume, open, left) => {
    expect(unusedAnswers(resume, snapshot(open))).toEqual(left);
  });
});

describe("a plain answer", () => {
  const waiting = (...ids: string[]): Session => ({
    session_id: "session",
    owner: null,
    created_at: "",
    updated_at: "",
    metadata: {},
    config: {},
    status: "interrupted",
    interrupts: Object.fromEntries(ids.map((id) => [`task ${id}`, [{ id, value: null }]])),
  });

  it("gets the id of the only open question, and keeps what else the command says", () => {
    const command = { resume: "yes", update: { a: 1 } };
    expect(withInterruptId(command, waiting(first))).toEqual({ resume: { [first]: "yes" }, update: { a: 1 } });
  });

  it.each<[string, Record<string, unknown>, Session]>([
    ["it has ids already", { resume: { [first]: "yes" } }, waiting(first)],
    ["several questions are open", { resume: "yes" }, waiting(first, second)],
    ["no question waits", { resume: "yes" }, { ...waiting(first), status: "busy" }],
    ["the question has an id of another kind", { resume: "yes" }, waiting("a task")],
    ["it is no answer", { goto: "node" }, waiting(first)],
  ])("stays as it is where %s", (_name, command, session) => {
    expect(withInterruptId(command, session)).toBe(command);
  });
});
