import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { ModelStep } from "@millrace/testing/model-server-script";
import { projectFolder } from "../../../tests/support/source-files.ts";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../tests/support/testing.ts";

const circuit = "filters/rc.cir";
const [name, result] = [encodeURIComponent(circuit), "filters/rc_sim.json"];
const calls = (tool: string, given: Record<string, unknown>): ModelStep => ({
  toolCalls: [{ name: tool, arguments: given }],
});
const changes = (find: string, replace: string) => calls("patch_file", { path: circuit, changes: [{ find, replace }] });
const simulates = calls("run_simulation", { circuit });

const Iteration = z.looseObject({
  iteration_id: z.string(),
  thread_id: z.string(),
  run_id: z.string().nullable(),
  call_id: z.string(),
  status: z.string(),
  message: z.string().nullable(),
  metrics: z.record(z.string(), z.number()),
  units: z.record(z.string(), z.string()),
  goals: z.array(z.looseObject({ state: z.string() })),
  netlist: z.object({ hash: z.string(), text: z.string().nullable() }).nullable(),
  is_kept: z.boolean(),
});
const Waveforms = z.looseObject({
  waveforms: z.array(z.looseObject({ analysis: z.string(), x: z.array(z.number()) })),
});
const Listed = z.looseObject({ circuits: z.array(z.looseObject({ name: z.string() })) });
const Parsed = z.looseObject({
  parts: z.array(z.looseObject({ name: z.string(), nodes: z.array(z.string()), value: z.string() })),
  nets: z.array(z.looseObject({ name: z.string(), parts: z.array(z.string()) })),
  directives: z.array(z.looseObject({ card: z.string() })),
  problems: z.array(z.looseObject({ line: z.number(), severity: z.string(), message: z.string() })),
});

let [server, model]: [TestServer | undefined, ModelServer | undefined] = [undefined, undefined];
let thread = "";

/** Asks as one of the owners. */
async function ask(path: string, owner = "ada", body?: unknown, language = "en"): Promise<Response> {
  if (server === undefined) throw new Error("not started");
  const headers = { "x-api-key": `key-of-${owner}`, "accept-language": language };
  return await server.send(body === undefined ? "GET" : "POST", path, body, headers);
}
const iterations = async (owner = "ada") =>
  z.array(Iteration).parse(await (await ask(`/circuits/${name}/iterations`, owner)).json());
const curvesOf = async (id: string, points: number): Promise<number[]> => {
  const answer = await ask(`/circuits/${name}/iterations/${id}?points=${points}`);
  return Waveforms.parse(await answer.json()).waveforms.map(({ x }) => x.length);
};
const parsed = async (text: string, language?: string) =>
  Parsed.parse(await (await ask("/circuits/parse", "ada", { text }, language)).json());

beforeAll(async () => {
  model = await startModelServer({
    script: [
      simulates,
      changes("R1 in out 1k", "R1 in out"),
      simulates,
      changes("R1 in out", "R1 in out 159.155"),
      simulates,
      { text: "The goal is reached." },
    ],
  });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    openai,
    model: "openai:scripted",
    apiKeys: ["ada", "ben", "guest", "planner"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { guest: ["circuits"], planner: ["planner"] },
  });
  const { workspace } = server.config;
  await mkdir(join(workspace, "filters"));
  await writeFile(
    join(workspace, circuit),
    await readFile(join(projectFolder, "samples/circuits/rc-low-pass.cir"), "utf8"),
  );
  const goals = [{ metric: "bandwidth", target: "1 kHz", tolerance: "10 Hz" }];
  await writeFile(join(workspace, "filters/rc_goals.json"), JSON.stringify(goals));
});
afterAll(async () => {
  await server?.remove();
  await model?.close();
});

describe("the circuits of a workspace", () => {
  it("are listed with their titles, and read with their parts, nets, directives and goals", async () => {
    expect(await (await ask("/circuits")).json()).toEqual({
      circuits: [
        {
          name: circuit,
          title: "RC low-pass: cut-off at 1 / (2 pi R C) = 159.155 Hz",
          size: expect.any(Number),
          modified_at: expect.stringMatching(/^20/u),
          simulated_at: null,
        },
      ],
      more: false,
    });
    const one = z.looseObject({ netlist: Parsed }).parse(await (await ask(`/circuits/${name}`)).json());
    expect(one).toMatchObject({
      name: circuit,
      text: expect.stringContaining("R1 in out 1k"),
      goals: [{ metric: "bandwidth", target: "1 kHz", way: "near", state: "unknown", value: null }],
      goals_problem: null,
    });
    expect(one.netlist.parts.map((part) => [part.name, part.nodes, part.value])).toEqual([
      ["V1", ["in", "0"], "dc 0 ac 1 pulse(0 1 0 1n 1n 10m 20m)"],
      ["R1", ["in", "out"], "1k"],
      ["C1", ["out", "0"], "1u"],
    ]);
    expect(one.netlist.nets.map((net) => [net.name, net.parts])).toEqual([
      ["in", ["V1", "R1"]],
      ["0", ["V1", "C1"]],
      ["out", ["R1", "C1"]],
    ]);
    expect(one.netlist.directives.map(({ card }) => card)).toEqual([".ac", ".tran"]);
    expect(one.netlist.problems).toEqual([]);
    expect((await ask("/circuits/none.cir")).status).toBe(404);
    expect((await ask(`/circuits/${encodeURIComponent("../rc.cir")}`)).status).toBe(403);
  });

  it("are parsed: each problem has its line, in the language of the reader", async () => {
    const text = 'Bad\nR1 a 0 1k\n.model x "y\n.subckt s p\nR2 p 0 1k\nA1 a b filesource\n.tran 0 1\n.end\n';
    const { problems } = await parsed(text);
    expect(problems.map(({ line, severity, message }) => [line, severity, message.slice(0, 40)])).toEqual([
      [2, "warning", "only one element is connected to the nod"],
      [3, "error", "a quotation mark is not closed"],
      [4, "error", ".subckt s has no .ends"],
      [4, "warning", "the sub-circuit s is not used in this fi"],
      [6, "error", "refused, a1 is a device of compiled code"],
      [7, "error", '".tran 0 1" is not of the form .tran <st'],
    ]);
    const chinese = await parsed(text, "zh");
    expect(chinese.problems.every(({ message }) => /\p{Script=Han}/u.test(message))).toBe(true);
  });
});

describe("the iterations of a circuit", () => {
  it("are one for each simulation, with its netlist, figures, goals and failure, also after a restart", async () => {
    expect(await iterations()).toEqual([]);
    const made = await ask("/threads", "ada", {});
    thread = z.looseObject({ thread_id: z.string() }).parse(await made.json()).thread_id;
    const input = { messages: [{ role: "user", content: `Tune ${circuit}` }] };
    const run = { assistant_id: "agent", input, context: { mode: "free_work" } };
    await (await ask(`/threads/${thread}/runs/wait`, "ada", run)).text();
    model?.assertFinished();
    const found = await iterations();
    const [last, failed, first] = found;
    expect(found.map(({ status }) => status)).toEqual(["done", "failed", "done"]);
    expect(first).toMatchObject({
      thread_id: thread,
      metrics: { bandwidth: expect.closeTo(159.155, 0) },
      units: { bandwidth: "Hz" },
      goals: [{ metric: "bandwidth", state: "missed", gap: expect.closeTo(-840.8, 0), figure_unit: "Hz" }],
      analyses: [".ac dec 50 1 100k", ".tran 10u 10m"],
    });
    expect(failed?.message).toContain("rc.cir:3");
    expect(last).toMatchObject({
      goals: [{ state: "reached" }],
      netlist: { text: expect.stringContaining("159.155\n") },
    });
    const log = await (await ask(`/threads/${thread}/tool-log`)).text();
    for (const { call_id } of found) expect(log).toContain(`"call_id":"${call_id}"`);
    expect(first?.netlist?.hash).not.toBe(last?.netlist?.hash);
    await server?.close();
    server = await server?.restart();
    expect(await iterations()).toEqual(found);
  });

  it("have curves of as many points as are asked for; more than are stored are simulated again", async () => {
    const [last] = await iterations();
    const id = last?.iteration_id ?? "";
    expect(await curvesOf(id, 50)).toEqual([50, 50]);
    expect(await curvesOf(id, 300)).toEqual([251, 300]);
    // What is simulated is the netlist of then.
    await writeFile(join(server?.config.workspace ?? "", circuit), "Nothing\n");
    await (await ask(`/threads/${thread}/tools/run_simulation/run`, "ada", { args: { circuit } })).text();
    const [byHand, ofRun] = await iterations();
    expect([byHand?.status, byHand?.run_id, ofRun?.run_id]).toEqual(["failed", null, expect.any(String)]);
    const [ac = 0, tran = 0] = await curvesOf(id, 5_000);
    expect([ac, tran > 300, tran <= 5_000]).toEqual([251, true, true]);
    const none = await ask(`/circuits/${name}/iterations/${thread}`);
    expect(none.status).toBe(404);
  });

  it("are of the threads that worked on the circuit: by them circuits are listed, too", async () => {
    const other = z.looseObject({ thread_id: z.string() }).parse(await (await ask("/threads", "ada", {})).json());
    await writeFile(join(server?.config.workspace ?? "", "filters/other.cir"), "Other\n");
    const listed = async (query: string): Promise<string[]> => {
      const { circuits } = Listed.parse(await (await ask(`/circuits${query}`)).json());
      return circuits.map((one) => one.name);
    };
    expect(await listed("")).toEqual(["filters/other.cir", circuit]);
    expect(await listed(`?thread_id=${thread}`)).toEqual([circuit]);
    expect(await listed(`?thread_id=${other.thread_id}`)).toEqual([]);
  });

  it("stay when one is taken back, and belong to the owner of their thread", async () => {
    const [, last] = await iterations();
    await ask(`/threads/${thread}/operations/${last?.iteration_id}/undo`, "ada", {});
    expect((await iterations())[1]).toMatchObject({ ...last, status: "undone" });
    expect(await readFile(join(server?.config.workspace ?? "", result), "utf8")).toContain("missed");
    expect(await iterations("ben")).toEqual([]);
    const others = await ask(`/circuits/${name}/iterations/${last?.iteration_id}`, "ben");
    expect(others.status).toBe(404);
  });

  it.each([
    ["guest", /read_file|list_files/u],
    ["planner", /toolkit circuits/u],
  ])("are refused to the owner %s, who may not use them", async (owner, words) => {
    for (const path of ["/circuits", `/circuits/${name}`, `/circuits/${name}/iterations`]) {
      const answer = await ask(path, owner);
      expect([answer.status, await answer.text()], path).toEqual([403, expect.stringMatching(words)]);
    }
  });
});
