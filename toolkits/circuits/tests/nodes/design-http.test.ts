import { copyFile, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import type { ModelStep } from "@millrace/testing/model-server-script";
import { projectFolder } from "../../../../tests/support/source-files.ts";
import {
  startModelServer,
  startTestServer,
  type ModelServer,
  type TestServer,
} from "../../../../tests/support/testing.ts";

const simulates: ModelStep = {
  toolCalls: [
    {
      name: "run_simulation",
      arguments: { circuit: "cmos-amplifier.cir", configuration: { negative_input: "vinn", supply: "vdd" } },
    },
  ],
};
const patches = (...changes: { find: string; replace: string }[]): ModelStep => ({
  toolCalls: [{ name: "patch_file", arguments: { path: "cmos-amplifier.cir", changes } }],
});
const wider = ["M1 x inp s 0", "M2 out inn s 0"].map((pins) => ({
  find: `${pins} nch w=40u l=1u`,
  replace: `${pins} nch w=80u l=1u`,
}));

let [server, model]: [TestServer | undefined, ModelServer | undefined] = [undefined, undefined];
beforeAll(async () => {
  model = await startModelServer({
    script: [
      simulates,
      { text: "The bandwidth is too small." },
      patches({ find: "Ib vdd b 50u", replace: "Ib vdd b 100u" }),
      simulates,
      { text: "More current helps, and is not enough." },
      patches(...wider),
      simulates,
      { text: "Now all goals are reached." },
    ],
  });
  const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json"), openai, model: "openai:scripted" });
  for (const name of ["cmos-amplifier.cir", "cmos-amplifier_goals.json"]) {
    await copyFile(join(projectFolder, "samples/circuits", name), join(server.config.workspace, name));
  }
});
afterAll(async () => {
  await server?.remove();
  await model?.close();
});

const Suggested = z.object({
  status_summary: z.string(),
  state: z.string(),
  options: z.array(z.object({ id: z.string(), label: z.string() })),
});
const Waiting = z.array(z.object({ id: z.string(), kind: z.string() }));
const Result = z.looseObject({
  metrics: z.record(z.string(), z.number()),
  goals: z.array(z.looseObject({ state: z.looseObject({ kind: z.string() }) })),
});

describe("the design of an amplifier, over HTTP", () => {
  it("goes on from checkpoint to checkpoint until its goals are reached, also over a restart, and is accepted", async () => {
    if (server === undefined || model === undefined) throw new Error("not started");
    const { thread_id: thread } = await server.client.threads.create();
    const suggestions = async () => {
      const response = await server?.send("GET", `/threads/${thread}/suggestions`);
      return z.array(Suggested).parse(await response?.json());
    };
    const choose = async (id: string): Promise<void> => {
      const response = await server?.send("POST", `/threads/${thread}/suggestions/${id}`, {});
      expect(response?.status).toBe(200);
      for (const { run_id } of (await server?.client.runs.list(thread)) ?? []) {
        await server?.client.runs.join(thread, run_id);
      }
    };
    await server.client.runs.wait(thread, "agent", {
      input: { messages: [{ role: "user", content: "Optimise cmos-amplifier.cir" }] },
      context: { work_mode: "workflow", action_type: "optimize_parameters" },
    });
    const waiting = Waiting.parse(await (await server.send("GET", `/threads/${thread}/approvals`)).json());
    expect(waiting.map(({ kind }) => kind)).toEqual(["design_checkpoint"]);
    expect((await suggestions()).at(-1)?.status_summary).toMatch(
      /unity_gain_frequency: at least 200 MHz, missed: 104\.\d+ MHz/u,
    );

    await server.close();
    server = await server.restart();
    await choose("continue_optimizing");
    expect((await suggestions()).map(({ state }) => state)).toEqual(["selected", "active"]);
    await choose("continue_optimizing");
    const reviews = await suggestions();
    expect(reviews.at(-1)?.status_summary).toContain("Iteration 3 is done.");
    expect(reviews.at(-1)?.status_summary).toContain("All goals are reached.");
    expect(reviews.at(-1)?.options[0]?.id).toBe("accept_design");

    const text = await readFile(join(server.config.workspace, "cmos-amplifier_sim.json"), "utf8");
    const { metrics, goals } = Result.parse(JSON.parse(text));
    expect(goals.map(({ state }) => state.kind)).toEqual(["reached", "reached", "reached", "reached"]);
    expect(metrics["unity_gain_frequency"]).toBeGreaterThan(200e6);

    await choose("accept_design");
    expect((await suggestions()).at(-1)?.state).toBe("selected");
    expect(Waiting.parse(await (await server.send("GET", `/threads/${thread}/approvals`)).json())).toEqual([]);
    model.assertFinished();
  });
});
