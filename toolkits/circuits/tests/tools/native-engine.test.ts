import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { isAppError } from "@millrace/engine/errors/errors";
import { readAnalysis } from "../../simulation/deck/analysis.ts";
import { prepareDeck, type Deck } from "../../simulation/deck/deck.ts";
import { createEngine, type AnalysisResult, type Engine } from "../../simulation/embedded-engine.ts";
import { createNativeEngine, namedSimulator } from "../../simulation/native-engine.ts";
import { circuitTools as tools } from "../../tools/index.ts";
import { findSandbox, limiter } from "../../../../src/tools/programs/sandbox.ts";
import { aWorkspace, type Workspace } from "../../../../tests/support/a-workspace.ts";
import { simulatorKey } from "../../open.ts";

const program = "/usr/bin/ngspice";
const sandbox = await findSandbox();
const isThere = sandbox !== undefined && existsSync(program) && existsSync(limiter);
const native = createNativeEngine(program);
const embedded = createEngine();
afterAll(async () => await Promise.all([native.close(), embedded.close()]));

const never = new AbortController().signal;
const deckOf = async (...lines: string[]): Promise<Deck> =>
  await prepareDeck("deck.cir", async () => ["A circuit", ...lines, ".end"].join("\n"));
async function run(card: string, lines: string[], by: Engine = native): Promise<AnalysisResult> {
  return await by.run(await deckOf(...lines), readAnalysis(card, "test"), never);
}

const lowPass = ["V1 in 0 dc 1 ac 1 pulse(0 1 0 1n 1n 10m 20m)", "R1 in out 1k", "C1 out 0 1u"];
const endless = ["V1 in 0 pulse(0 1 0 1p 1p 1n 2n)", "R1 in out 1k", "C1 out 0 1n"];

/** A deck that no rule has looked at: what the sandbox alone keeps inside. */
async function unruled(...lines: string[]): Promise<Deck> {
  const deck = await deckOf(...lowPass);
  return { ...deck, statements: [...deck.statements, ...lines.map((text) => ({ text, file: "deck.cir", line: 9 }))] };
}
const control = (...lines: string[]): string[] => [".control", ...lines, ".endc"];

describe.skipIf(!isThere)("ngspice of the machine, which needs bubblewrap, prlimit and ngspice here", () => {
  it.each([
    [".op", lowPass],
    [".ac dec 10 1 1meg", lowPass],
    [".tran 10u 5m", lowPass],
    [".dc V1 0 4 1", lowPass],
    [".noise v(out) V1 dec 1 1 10", lowPass],
    [".ac dec 100 1 1meg", [...lowPass, ".meas ac corner when vdb(out)=-3.0103"]],
  ])("gives for %s what the simulator that comes along gives", async (card, lines) => {
    const [theirs, ours] = [await run(card, lines), await run(card, lines, embedded)];
    const last = ({ plot }: AnalysisResult): Record<string, number> =>
      Object.fromEntries(plot.vectors.map(({ name, real }) => [name, real.at(-1) ?? Number.NaN]));
    expect(Object.keys(last(theirs))).toEqual(Object.keys(last(ours)));
    for (const [name, value] of Object.entries(last(ours))) {
      expect(Math.abs((last(theirs)[name] ?? Number.NaN) - value), name).toBeLessThanOrEqual(
        1e-3 * Math.abs(value) + 1e-9,
      );
    }
    expect(Object.keys(theirs.measured)).toEqual(Object.keys(ours.measured));
    for (const [name, value] of Object.entries(ours.measured)) expect(theirs.measured[name]).toBeCloseTo(value, 1);
  });

  it.each([
    ["a missing model", ["V1 in 0 1", "D1 in 0 unknown"], "invalid_parameter", "A model is missing"],
    ["a loop of sources", ["V1 a 0 1", "V2 a 0 2"], "execution_failed", "did not converge"],
    ["a name without a value", ["V1 a 0 1", "R1 a 0 {missing}"], "invalid_parameter", ""],
    [
      "models that it does not bring",
      ["V1 a 0 1", "R1 a 0 1", ".include modelcard.freepdk45"],
      "not_found",
      "does not bring",
    ],
  ])("%s is reported", async (_, lines, code, words) => {
    const problem = await run(".op", lines).catch((error: unknown) => error);
    expect(problem).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  it("ends what takes too long, and goes on with the next", async () => {
    const short = createNativeEngine(program, { seconds: 1, atOnce: 1 });
    await expect(run(".tran 1n 400u", endless, short)).rejects.toMatchObject({ code: "timeout" });
    expect((await run(".op", lowPass, short)).plot.points).toBe(1);
  });

  it.each([
    ["says too much", control("repeat 100000", "echo it goes on and on and on and on and on", "end")],
    ["writes too much", control("shell head -c 100000000 /dev/zero > out.raw", "quit")],
  ])("ends what %s", async (_, lines) => {
    const deck = await unruled(...lines);
    await expect(native.run(deck, readAnalysis(".op", "test"), never)).rejects.toMatchObject({ code: "too_large" });
  });

  it("ends what takes too much memory", async () => {
    // Such a card is refused before it runs.
    const card = { type: "tran", card: ".tran 1n 1" } as const;
    await expect(native.run(await deckOf(...lowPass), card, never)).rejects.toSatisfy(
      (error) => isAppError(error) && (error.code === "too_large" || error.code === "timeout"),
    );
  });

  it("ends with a stop, with everything that it has started", async () => {
    const stop = new AbortController();
    const deck = await unruled(...control("shell sleep 600"));
    const running = native.run(deck, readAnalysis(".op", "test"), stop.signal);
    setImmediate(() => stop.abort(new Error("stopped")));
    await expect(running).rejects.toThrow("stopped");
    await expect(native.run(deck, readAnalysis(".op", "test"), stop.signal)).rejects.toThrow("stopped");
  });

  describe("a deck that no rule has checked", () => {
    let workspace: Workspace;
    beforeEach(async () => {
      workspace = await aWorkspace();
      await writeFile(join(workspace.outside, "canary.txt"), "canary-7f3a\n");
    });
    afterEach(async () => await workspace[Symbol.asyncDispose]());

    const outputOf = (...lines: string[]): Promise<string> => outputBy(native, ...lines);
    const outputBy = async (engine: Engine, ...lines: string[]): Promise<string> => {
      // It ends without a result, so that the error quotes the output.
      const deck = await unruled(...control(...lines, "quit"));
      return await engine.run(deck, readAnalysis(".op", "test"), never).then(
        ({ warnings }) => warnings.join(" "),
        (error: unknown) => String(error),
      );
    };

    it.each([
      ["a file outside", (place: string) => `shell touch ${place}/escaped`],
      ["a result outside", (place: string) => `write ${place}/escaped v(out)`],
      ["a file of the machine", () => "shell touch /usr/escaped /etc/escaped"],
      ["what a file outside says", (place: string) => `shell cat ${place}/canary.txt`],
      ["the environment of the server", () => "shell env | grep millrace_test"],
      ["other processes", () => "shell ls /proc | grep -c '^[0-9]' | grep -qe '^.$' || echo canary-7f3a"],
    ])("cannot reach %s", async (_, command) => {
      const before = await readdir(workspace.outside);
      process.env["millrace_test"] = "canary-7f3a";
      try {
        // The output of a command is returned, so a missing line means something.
        const output = await outputOf("shell echo error: output-9c1d", command(workspace.outside));
        expect(output).toContain("output-9c1d");
        expect(output).not.toContain("canary-7f3a");
      } finally {
        delete process.env["millrace_test"];
      }
      expect(await readdir(workspace.outside)).toEqual(before);
      for (const path of ["/usr/escaped", "/etc/escaped"]) expect(existsSync(path)).toBe(false);
    });

    it("cannot see folders that the server hides, also among the programs", async () => {
      const look = "shell ls -d /usr/share/doc";
      expect(await outputOf(look)).not.toContain("cannot access");
      expect(await outputBy(createNativeEngine(program, { hidden: ["/usr/share"] }), look)).toContain("cannot access");
    });

    it("cannot reach the network, of which this machine is a part", async () => {
      let calls = 0;
      const server = createServer((socket) => {
        calls += 1;
        socket.destroy();
      });
      await once(server.listen(0, "127.0.0.1"), "listening");
      const address = server.address();
      const port = typeof address === "object" ? address?.port : undefined;
      try {
        const output = await outputOf(`shell bash -c 'exec 3<>/dev/tcp/127.0.0.1/${port}' || echo error: refused-9c1d`);
        expect(output).toContain("refused-9c1d");
        expect(calls).toBe(0);
      } finally {
        server.close();
      }
    });
  });

  it("says so when the program is not there", async () => {
    await expect(run(".op", lowPass, createNativeEngine("/usr/bin/no-such-ngspice"))).rejects.toMatchObject({
      code: "invalid_state",
      message: expect.stringContaining("no program /usr/bin/no-such-ngspice"),
    });
  });
});

it("is not run where no sandbox can be made, and says what to do", async () => {
  const engine = createNativeEngine(program, { sandbox: async () => undefined });
  await expect(run(".op", lowPass, engine)).rejects.toMatchObject({
    code: "invalid_state",
    message: expect.stringContaining("bubblewrap makes no sandbox"),
    suggestion: expect.stringContaining("remove MILLRACE_NGSPICE"),
  });
});

it("is run as soon as a sandbox can be made, also where that failed before", async () => {
  const found = [undefined, "/no-such-sandbox"];
  const engine = createNativeEngine(program, { sandbox: async () => found.shift() });
  await expect(run(".op", lowPass, engine)).rejects.toThrow("bubblewrap makes no sandbox");
  await expect(run(".op", lowPass, engine)).rejects.not.toThrow("bubblewrap makes no sandbox");
});

it.runIf(existsSync(limiter))("ends what runs when it is closed, and waits until nothing is left of it", async () => {
  await using workspace = await aWorkspace();
  const [box, begun] = [join(workspace.outside, "box"), join(workspace.outside, "begun")];
  // In place of the sandbox: it writes the folder it was started in, and does not end.
  await writeFile(box, `#!/bin/sh\npwd > ${begun}.new && mv ${begun}.new ${begun}\nexec sleep 1000\n`, { mode: 0o755 });
  const engine = createNativeEngine(program, { sandbox: async () => box });
  const running = run(".op", lowPass, engine).catch((error: unknown) => error);
  while (!existsSync(begun)) await new Promise((resolve) => setImmediate(resolve));
  const folder = (await readFile(begun, "utf8")).trim();
  expect(existsSync(folder)).toBe(true);
  await engine.close();
  expect(existsSync(folder)).toBe(false);
  expect(await running).toMatchObject({ message: expect.stringContaining("closing") });
  await expect(run(".op", lowPass, engine)).rejects.toThrow("closing");
});

it("is what run_simulation runs where the operator has named it", async () => {
  await using workspace = await aWorkspace();
  await workspace.fill({ "rc.cir": ["RC", ...lowPass, ".op", ".end"].join("\n") });
  // Without a sandbox it runs nothing, so what it says shows who was asked.
  const named = namedSimulator(loadConfig({ MILLRACE_NGSPICE: "on", MILLRACE_SANDBOX: "off" }));
  if (named !== undefined) workspace.context.toolkitServices.add(simulatorKey, named);
  const refused = await workspace.call(tools.run_simulation, { circuit: "rc.cir" });
  expect(refused).toMatchObject({ success: false, errorType: "invalid_state" });
  expect(refused.message).toContain("bubblewrap makes no sandbox");
  expect(namedSimulator(loadConfig({}))).toBeUndefined();
});

it.each([["ngspice"], ["../ngspice"], ["auto"]])("%j is no program", (value) => {
  expect(() => loadConfig({ MILLRACE_NGSPICE: value })).toThrow("no absolute path");
});
