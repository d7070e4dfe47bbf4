import { basename } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { enabledToolkits } from "../../../src/toolkits/enabled-toolkits.ts";
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

describe("external tools of the user", () => {
  const files = {
    ".autocoderrules/style.md": always("Write in verse."),
    ".auto-coder/.autocodertools/count.sh": "# Description: Counts words\n# Usage: count.sh <file>",
    ".auto-coder/.autocodertools/broken": "no program",
  };

  it("are listed before the rules, with their paths, their help and how they may be run", async () => {
    const running = await start({ files, script: [{ text: "Hello." }] });
    await running.send("Say hello, my friend", context);
    const messages = sent(running, 0);
    expect(messages.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user", "assistant", "user"]);
    const text = messages[1]?.text ?? "";
    expect(text).toContain("Number of programs: 1\nFiles that could not be used: 1");
    expect(text).toContain(
      "## count.sh\nFile: .auto-coder/.autocodertools/count.sh\nExecutable: no\nDescription: Counts",
    );
    expect(text).toContain(`Folder of the project: ${running.workspace}`);
    expect(text).toContain("You have no tool that runs commands");
    expect(messages[3]?.text).toContain("Write in verse.");
  });

  it("are listed with their project and folders, how they are run and how a new one is made (EXT-03)", async () => {
    const running = await start({
      files: { ...files, ".autocodertools/first.py": "# Usage: first" },
      script: [{ text: "Hello." }],
    });
    running.services.toolkits = enabledToolkits(["default", "shell"]);
    await running.send("Say hello, my friend", { ...context, tools: ["execute_command", "read_file"] });
    const text = sent(running, 0)[1]?.text.replaceAll("\n", " ") ?? "";
    for (const words of [
      "Run them with execute_command.",
      `Project: ${basename(running.workspace)}`,
      "Number of programs: 2",
      "the first counts most: .autocodertools, .auto-coder/.autocodertools",
      "It must answer to help, -h or --help, or say Description: and Usage:",
      "A script must be readable, a program without an ending executable; compiled programs are preferred",
      "Hand the making of one to an agent, with a time limit such as 1800 seconds",
    ]) {
      expect(text).toContain(words);
    }
  });

  it("are not listed for a model that has no tools", async () => {
    const running = await start({ files, script: [{ text: "Hello." }] });
    await running.send("Say hello, my friend", { ...context, chat_mode: "chat" });
    expect(sent(running, 0).map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
    expect(sent(running, 0)[1]?.text).toContain("Write in verse.");
  });
});
