import { describe, expect, it } from "vitest";
import { createFrames, Renderings } from "@millrace/engine/http/responses/frames";
import type { RunEvent } from "@millrace/engine/run-events";

const megabyte = 1024 * 1024;

describe("the cache of rendered events", () => {
  it("keeps the newest up to its size", () => {
    const renderings = new Renderings<string>();
    const states = Array.from({ length: 40 }, (_, id) => ({ id }));
    for (const state of states) renderings.set(state, `state ${state.id}`, megabyte);
    const known = states.filter((state) => renderings.get(state) !== undefined);
    expect(known).toEqual(states.slice(-32));
    expect(renderings.get(states.at(-1) ?? {})).toBe("state 39");
  });

  it("keeps short ones, whatever their number", () => {
    const renderings = new Renderings<string>();
    const tokens = Array.from({ length: 10_000 }, (_, id) => ({ id }));
    for (const token of tokens) renderings.set(token, "a token", 8 * 1024 - 1);
    expect(tokens.every((token) => renderings.get(token) === "a token")).toBe(true);
  });

  it("renders again for a late reader", () => {
    const events = Array.from({ length: 40 }, (_, id): RunEvent => {
      return { id, event: "values", namespace: [], data: { text: String(id).padEnd(megabyte, "x") } };
    });
    const frame = createFrames({ ids: true });
    const first = events.map((event) => Buffer.from(frame(event)).toString("latin1").slice(0, 60));
    const late = createFrames({ ids: true });
    expect(events.map((event) => Buffer.from(late(event)).toString("latin1").slice(0, 60))).toEqual(first);
  });
});
