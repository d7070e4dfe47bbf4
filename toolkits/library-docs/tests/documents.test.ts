import { mkdir, rm, writeFile } from "node:fs/promises";
import { afterEach, describe, expect, it } from "vitest";
import { wireText } from "@millrace/testing/model-server";
import { documentsOf } from "../../../tests/support/toolkit-services.ts";
import { startWorkflow, type TestWorkflow, type TestWorkflowOptions } from "../../../tests/support/workflow.ts";

let flow: TestWorkflow | undefined;
afterEach(async () => {
  await flow?.close();
  flow = undefined;
});

const always = (text: string): string => `---\nalwaysApply: true\n---\n${text}`;
const context = { mode: "free_work" };

async function start(options: TestWorkflowOptions): Promise<TestWorkflow> {
  flow = await startWorkflow(options);
  flow.services.documents = documentsOf(flow.workspace);
  return flow;
}

/** The messages of the nth request: role and text. */
function sent({ model }: TestWorkflow, index: number): { role: string; text: string }[] {
  return (model.requests[index]?.messages ?? []).map((message) => ({ role: message.role, text: wireText(message) }));
}

describe("documents of libraries", () => {
  it("come first, joined by blank lines, and are read again when they have changed", async () => {
    const running = await start({
      files: { ".autocoderrules/style.md": always("Write in verse.") },
      script: [{ text: "Hello." }, { text: "Again." }],
    });
    const data = `${running.workspace}-data/library-docs`;
    const place = `${data}/repository/github.com/ann/fastlib`;
    await mkdir(place, { recursive: true });
    const projects = { [running.workspace]: ["ann/fastlib"] };
    await writeFile(`${data}/libraries.json`, JSON.stringify({ projects }));
    await writeFile(`${place}/a.md`, "Call fast().");
    await writeFile(`${place}/b.md`, "Never call slow().\n");
    try {
      await running.send("Say hello, my friend", context);
      await writeFile(`${place}/b.md`, "Call slow() on Sundays.");
      await running.send("And again, my friend", context);
    } finally {
      await rm(`${running.workspace}-data`, { recursive: true });
    }
    expect(sent(running, 0)[1]?.text).toContain("Libraries of this project: ann/fastlib");
    expect(sent(running, 0)[1]?.text).toContain("Call fast().\n\nNever call slow().");
    expect(sent(running, 0)[3]?.text).toContain("Write in verse.");
    expect(sent(running, 1)[1]?.text).toContain("Call fast().\n\nCall slow() on Sundays.");
  });
});
