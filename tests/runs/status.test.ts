import { describe, expect, it } from "vitest";
import { isOver, noPause, outcomeOf, type Ending, type Pause } from "@millrace/engine/runs/status";

const asked: Pause = { interrupts: { task: [{ id: "i", value: "?" }] }, waiting: true };
const breakpoint: Pause = { interrupts: {}, waiting: true };
const done: Ending = { kind: "done" };
const stopped: Ending = { kind: "stopped" };
const failed: Ending = { kind: "failed", error: { error: "Error", message: "no" } };

describe("how a run ends", () => {
  it.each([
    ["done with nothing waiting", done, noPause, "success", "idle"],
    ["done at a question", done, asked, "success", "interrupted"],
    ["done at a breakpoint", done, breakpoint, "success", "interrupted"],
    ["stopped between steps", stopped, breakpoint, "interrupted", "interrupted"],
    ["stopped before it ran", stopped, noPause, "interrupted", "idle"],
    ["stopped while a question waits", stopped, asked, "interrupted", "interrupted"],
    ["failed", failed, noPause, "error", "error"],
    ["failed beside a question", failed, asked, "error", "error"],
  ] as const)("%s", (_name, ending, pause, status, session_status) => {
    const outcome = outcomeOf(ending, pause);
    expect(outcome).toMatchObject({ status, session_status, interrupts: pause.interrupts });
    expect(outcome.error).toEqual(ending.kind === "failed" ? ending.error : undefined);
  });

  it.each([
    ["pending", false],
    ["running", false],
    ["success", true],
    ["error", true],
    ["timeout", true],
    ["interrupted", true],
  ] as const)("%s is over: %s", (status, over) => {
    expect(isOver(status)).toBe(over);
  });
});
