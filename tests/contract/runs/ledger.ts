import { describe, expect, it } from "vitest";
import type { EffectClass } from "@millrace/engine/storage/records";
import type { Ledger } from "@millrace/engine/storage/attempt-store";

function call(effect: EffectClass, tool_call_id = "c1", session_id = "s1") {
  return { session_id, tool_call_id, run_id: "r1", tool: "a_tool", effect };
}

/** Law 3 as a table: the answer to a start, by effect class and recorded state. `create` makes the sessions too. */
export function describeLedger(name: string, create: (sessionIds: string[]) => Promise<Ledger>): void {
  describe(name, () => {
    it.each([
      ["pure", { kind: "repeat" }],
      ["idempotent", { kind: "repeat" }],
      ["reconcilable", { kind: "reconcile", started_at: expect.stringMatching(/^\d{4}-.*Z$/) }],
      ["unsafe", { kind: "unknown", started_at: expect.stringMatching(/^\d{4}-.*Z$/) }],
    ] as const)("answers a second start of an unfinished %s call with %o", async (effect, answer) => {
      const ledger = await create(["s1"]);
      expect(await ledger.start(call(effect))).toEqual({ kind: "start" });
      expect(await ledger.start(call(effect))).toEqual(answer);
      expect(await ledger.start(call(effect))).toEqual(answer);
    });

    it.each(["pure", "idempotent", "reconcilable", "unsafe"] as const)(
      "gives a finished %s call its stored result",
      async (effect) => {
        const ledger = await create(["s1"]);
        const result = { success: true, data: { lines: [1, 2, null], text: "Zeile\u0000 \u{1f600}" } };
        await ledger.start(call(effect));
        await ledger.finish("s1", "c1", result);
        expect(await ledger.start(call(effect))).toEqual({ kind: "finished", result });
      },
    );

    it("lets exactly one of many parallel starts of an unsafe call begin", async () => {
      const ledger = await create(["s1"]);
      const answers = await Promise.all(Array.from({ length: 20 }, () => ledger.start(call("unsafe"))));
      expect(answers.filter((answer) => answer.kind === "start")).toHaveLength(1);
      expect(answers.filter((answer) => answer.kind === "unknown")).toHaveLength(19);
    });

    it("keeps calls of the same id in two sessions apart", async () => {
      const ledger = await create(["s1", "s2"]);
      await ledger.start(call("unsafe", "c1", "s1"));
      await ledger.finish("s1", "c1", "done");
      expect(await ledger.start(call("unsafe", "c1", "s2"))).toEqual({ kind: "start" });
    });

    it("returns the start times of the named calls, and of no others", async () => {
      const ledger = await create(["s1", "s2"]);
      for (const id of ["c1", "c2"]) await ledger.start(call("unsafe", id, "s1"));
      await ledger.start(call("unsafe", "c3", "s2"));
      const [first] = await ledger.list("s1");
      expect([...(await ledger.begun("s1", ["c1", "c3", "c4"]))]).toEqual([["c1", first?.started_at]]);
      expect((await ledger.begun("s1", [])).size).toBe(0);
    });

    it("lists the calls of a session in the order of their starts", async () => {
      const ledger = await create(["s1", "s2"]);
      await ledger.start(call("unsafe", "z"));
      await ledger.start(call("pure", "a"));
      await ledger.start(call("pure", "other", "s2"));
      await ledger.finish("s1", "a", undefined);
      const [first, second, ...rest] = await ledger.list("s1");
      expect(first).toMatchObject({ ...call("unsafe", "z"), state: "started", result: null, finished_at: null });
      expect(second).toMatchObject({ ...call("pure", "a"), state: "finished", result: null });
      expect(second?.finished_at).toEqual(expect.any(String));
      expect(rest).toEqual([]);
      expect(await ledger.list("nowhere")).toEqual([]);
    });

    it("returns one call of a session, and none of another session", async () => {
      const ledger = await create(["s1", "s2"]);
      await ledger.start(call("pure", "a", "s1"));
      await ledger.finish("s1", "a", { content: "long" });
      expect(await ledger.get("s1", "a")).toMatchObject({ tool_call_id: "a", result: { content: "long" } });
      expect(await ledger.get("s2", "a")).toBeUndefined();
      expect(await ledger.get("nowhere", "a")).toBeUndefined();
    });

    it("refuses a result for a call that was never started", async () => {
      const ledger = await create(["s1"]);
      await expect(ledger.finish("s1", "c1", "done")).rejects.toMatchObject({ code: "invalid_state" });
    });
  });
}
