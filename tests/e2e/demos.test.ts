import { describe, expect, it } from "vitest";
import { demo, runNode as node } from "../support/processes/run-demo.ts";

// Each starts servers of its own; a busy machine takes its time for that.
describe("npm run demo", { timeout: 180_000 }, () => {
  it.each([
    ["main", ["4. The history of the session"]],
    ["documents", ["offer.docx has its 10988 bytes again.", "Undo gives back the text of before"]],
  ])("-- %s shows all of its steps", async (name, told) => {
    const { code, output } = await node([demo, name]);
    expect(output).toContain("Everything the demo promises happened.");
    for (const words of told) expect(output).toContain(words);
    expect(code).toBe(0);
  });

  it("ends with 1 at the first step that does not happen, and says what was expected", async () => {
    const program = [
      'import { showDemo } from "./tests/e2e/demo/demo-session.ts";',
      'import { questionOf } from "./tests/e2e/demo/demo-turns.ts";',
      "const perform = async (server) => questionOf(server, (await server.client.threads.create()).thread_id);",
      "await showDemo({ prepare: () => undefined, perform });",
    ].join("\n");
    const { code, output } = await node(["--input-type=module", "--eval", program]);
    expect(output).toMatch(/The demo failed: .*the session should wait for an answer/u);
    expect(output).not.toContain("Everything the demo promises happened.");
    expect(code).toBe(1);
  });

  it("ends with 1 where the stand-in does not understand a request", async () => {
    const program = [
      'import { showDemo } from "./tests/e2e/demo/demo-session.ts";',
      'import { turn } from "./tests/e2e/demo/demo-turns.ts";',
      "const perform = async (server) => {",
      "  const { thread_id } = await server.client.threads.create();",
      '  await turn(server, thread_id, "Compose an opera about pumps.", {});',
      "};",
      "await showDemo({ prepare: () => undefined, perform });",
    ].join("\n");
    const { code, output } = await node(["--input-type=module", "--eval", program]);
    expect(output).toMatch(/The demo failed: .*The model did not understand the request/u);
    expect(code).toBe(1);
  });

  it("names the demos there are when it is asked for another", async () => {
    const { code, output } = await node([demo, "nothing"]);
    expect(output).toMatch(/^There is no demo "nothing"\. There are: main, .*\bdocuments\b.*\.\n$/u);
    expect(code).toBe(1);
  });
});
