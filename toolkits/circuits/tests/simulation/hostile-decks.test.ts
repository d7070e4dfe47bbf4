import { existsSync } from "node:fs";
import { symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { prepareDeck } from "../../simulation/deck/deck.ts";
import { createEngine, type Engine } from "../../simulation/embedded-engine.ts";
import { createNativeEngine } from "../../simulation/native-engine.ts";
import { findSandbox, limiter } from "../../../../src/tools/programs/sandbox.ts";
import { readWorkspaceText } from "../../../../src/context/workspace/workspace-text.ts";
import { filesUnder, hostileDecks, hostileFiles } from "./hostile-decks.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";

const program = "/usr/bin/ngspice";
const engines: { title: string; engine: Engine; isThere: boolean }[] = [
  { title: "the simulator that comes along", engine: createEngine(), isThere: true },
  {
    title: "ngspice of the machine, which needs bubblewrap, prlimit and ngspice here",
    engine: createNativeEngine(program),
    // Without a sandbox it does not run at all, which native-engine.test.ts shows.
    isThere: (await findSandbox()) !== undefined && [program, limiter].every((path) => existsSync(path)),
  },
];
let workspace: Workspace;
const signal = new AbortController().signal;
const canary = "root:canary-7f3a:0:0";

beforeAll(async () => {
  workspace = await aWorkspace();
  await workspace.fill(hostileFiles);
  await writeFile(join(workspace.outside, "canary.txt"), `${canary}\n`);
  await symlink(join(workspace.outside, "canary.txt"), join(workspace.root, "link.inc"));
});
afterAll(async () => {
  await Promise.all(engines.map(({ engine }) => engine.close()));
  await workspace[Symbol.asyncDispose]();
});

it("knows at least sixty hostile decks", () => {
  expect(new Set(hostileDecks.map(({ lines }) => lines.join("\n"))).size).toBeGreaterThanOrEqual(60);
});

describe.for(engines)("$title", ({ engine, isThere }) => {
  it.skipIf(!isThere).each(hostileDecks)(
    "keeps $name inside: $outcome",
    async ({ title = "A low-pass", lines, outcome }) => {
      const text = [title, "V1 in 0 dc 1 ac 1", "R1 in out 1k", "C1 out 0 1u", ".op", ...lines, ".end"].join("\n");
      await workspace.fill({ "deck.cir": text });
      const before = await filesUnder(workspace.outside);
      const problem = await simulate(engine).then(
        () => null,
        (error: unknown) => error,
      );
      expect(await filesUnder(workspace.outside)).toEqual(before);
      if (outcome === "harmless") expect(problem).toBeNull();
      else {
        expect(isAppError(problem) ? problem.code : problem).toBe(outcome);
        expect(isAppError(problem) ? problem.message : "").not.toContain("canary-7f3a");
        expect(isAppError(problem) ? problem.message.length : 0).toBeLessThan(1500);
      }
    },
  );
});

async function simulate(engine: Engine): Promise<void> {
  const read = async (path: string) => (await readWorkspaceText(workspace.root, path, signal)).text;
  const deck = await prepareDeck("deck.cir", read);
  for (const analysis of deck.analyses) {
    const { plot } = await engine.run(deck, analysis, signal);
    // A result of another circuit would be one too.
    expect(plot.vectors.map(({ name }) => name)).toContain("v(out)");
  }
}
