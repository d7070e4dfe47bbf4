import { afterEach, expect, it } from "vitest";
import { Shell, shellKey } from "../commands/shell.ts";
import { enabledToolkits } from "../../../src/toolkits/enabled-toolkits.ts";
import { wireText } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../../tests/support/workflow.ts";

let app: TestWorkflow;
let shell: Shell;
afterEach(async () => {
  await shell.close();
  await app.close();
});

const notesIn = (index: number): string =>
  (app.model.requests[index]?.messages ?? [])
    .map(wireText)
    .filter((text) => text.includes("Background"))
    .join("\n");

it("asks about a command whose call does not say whether it needs approval, even one that only reads", async () => {
  app = await startWorkflow({
    script: [{ toolCalls: [{ name: "execute_command", arguments: { command: "ls" } }] }, { text: "It is empty." }],
  });
  shell = new Shell({ sandbox: "auto", hidden: [] });
  shell.sandbox = async () => "/usr/bin/bwrap";
  Object.assign(app.services, { toolkits: enabledToolkits(["default", "shell"]) });
  app.services.toolkitServices.add(shellKey, shell);
  await app.send("have a look", { mode: "free_work" });
  expect(await app.interrupts()).toMatchObject([{ value: { kind: "confirmation", tool: "execute_command" } }]);
});

it("reports an ended background command once to the next model call, with its output (LOOP-19)", async () => {
  app = await startWorkflow({
    script: [
      {
        toolCalls: [
          {
            name: "execute_command",
            arguments: { command: "echo built; exit 4", requires_approval: false, background: true },
          },
        ],
      },
      { text: "It is being built." },
      { text: "The build has failed." },
      { text: "Good bye." },
    ],
  });
  shell = new Shell({ sandbox: "off", hidden: [] });
  Object.assign(app.services, { toolkits: enabledToolkits(["default", "shell"]) });
  app.services.toolkitServices.add(shellKey, shell);
  await app.send("build it", { mode: "free_work" });
  const [question] = await app.interrupts();
  expect(JSON.stringify(question?.value)).toContain(
    "run the command echo built; exit 4 in the workspace, in the background",
  );
  await app.answer({ type: "approve" });
  const running = shell.list("session-1");
  expect(running).toHaveLength(1);
  while (shell.list("session-1")[0]?.status === "running") await new Promise((resolve) => setImmediate(resolve));
  await app.send("and?", { mode: "free_work" });
  await app.send("bye", { mode: "free_work" });
  const last = app.model.requests.length;
  expect(notesIn(last - 2)).toContain(
    `Background command ${running[0]?.id} (echo built; exit 4) has ended with exit code 4`,
  );
  expect(notesIn(last - 2)).toContain("built");
  expect(notesIn(last - 1)).toBe("");
});
