import { afterEach, describe, expect, it } from "vitest";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const checks = (): object[] => app.events.filter(({ type }) => type === "context_check");

describe("the checks around model calls (CTX-20)", () => {
  it("tell nothing of a usual turn with tools", async () => {
    app = await startWorkflow({
      files: { "a.txt": "words" },
      script: [{ toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] }, { text: "It says words." }],
    });
    await app.send("read a.txt", { mode: "free_work" });
    expect(checks()).toEqual([]);
  });

  it("warn once when the window is nearly full, and tell of an error when what cannot be left out is too much", async () => {
    app = await startWorkflow({ contextLimit: 8000, handler: () => ({ text: "Yes." }) });
    await app.send("look", { mode: "free_work" });
    expect(checks()).toEqual([]);
    const used = app.events.find((event) => event.type === "context_usage")?.tokens ?? 0;
    await app.send("word".repeat(7600 - used), { mode: "free_work", compress: false });
    expect(checks()).toHaveLength(1);
    expect(checks()[0]).toMatchObject({ moment: "before_call", severity: "error" });
    expect(app.model.requests).toHaveLength(2);
  });
});
