import { afterEach, describe, expect, it } from "vitest";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../tests/support/workflow.ts";

let app: TestWorkflow;
afterEach(() => app.close());

const system = (): string => wireText(app.model.requests[0]?.messages[0] ?? { role: "none" });
const say = { script: [{ text: "Done." }] };

describe("what circuits need to know", () => {
  it.each([
    [undefined, true],
    [["circuits"], true],
    [["files"], false],
  ])("is collected in a run with the toolkits %j: %s", async (toolkits, isTold) => {
    app = await startWorkflow({ ...say, files: { "amp.cir": "Amplifier\nR77 a 0 1k\n" } });
    await app.update({ circuit_file_path: "amp.cir" });
    await app.send("hello", { mode: "free_work", ...(toolkits && { toolkits }) });
    expect(system().includes("R77")).toBe(isTold);
  });
});
