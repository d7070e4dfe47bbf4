import { afterEach, describe, expect, it } from "vitest";
import type { ProfileRows } from "@millrace/models/registry/profiles";
import { agentFiles, askedBy, hands, scriptsOf, startWithAgents } from "../../agents/agent-flow.ts";
import { vendorModel } from "../../models/vendors/vendor-model.ts";
import type { ModelRequest } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const rows: ProfileRows = { "ollama:qwen3:8b": { thinking: "optional" } };

/** What a vendor is sent by a run with this context. */
async function sent(model: string, context: Record<string, unknown>): Promise<ModelRequest["body"] | undefined> {
  const flow = await startWorkflow({ stream: true, script: [{ text: "Here it is." }] });
  try {
    flow.services.loadModel = (name, options) =>
      typeof name === "string" ? vendorModel(name, flow.model, options, rows) : name;
    flow.services.defaultModel = model;
    await flow.send("Tell me", { mode: "free_work", ...context });
    return flow.model.requests[0]?.body;
  } finally {
    await flow.close();
  }
}

describe("whether a model thinks is a run's choice", () => {
  it.each<[string, object, object, object]>([
    [
      "zhipu:glm-4.7",
      { thinking: { type: "enabled" }, temperature: 1, max_tokens: 65_536 },
      { thinking: { type: "enabled" } },
      { thinking: { type: "disabled" }, temperature: 0.7, max_tokens: 32_768 },
    ],
    ["siliconflow:Qwen/Qwen3-8B", { enable_thinking: true }, { enable_thinking: true }, { enable_thinking: false }],
    ["qwen:qwen3-8b", { enable_thinking: true }, { enable_thinking: true }, { enable_thinking: false }],
    ["ollama:qwen3:8b", { think: true }, { think: true }, { think: false }],
    // These two think only where the run asks for it.
    ["qwen:qwen-plus", { enable_thinking: false }, { enable_thinking: true }, { enable_thinking: false }],
    [
      "deepseek:deepseek-chat",
      { thinking: { type: "disabled" } },
      { thinking: { type: "enabled" } },
      { thinking: { type: "disabled" } },
    ],
  ])("%s gets %o where the run says nothing, %o with thinking, %o without", async (model, usual, on, off) => {
    expect(await sent(model, {})).toMatchObject(usual);
    expect(await sent(model, { thinking: true })).toMatchObject(on);
    expect(await sent(model, { thinking: false })).toMatchObject(off);
  });

  it.each(["openai:gpt-5", "deepseek:deepseek-reasoner", "qwen:qwen-max", "own:x"])(
    "but not with %s, which has no choice or no known field",
    async (model) => {
      for (const thinking of [true, false]) {
        const body = await sent(model, { thinking });
        for (const field of ["thinking", "enable_thinking", "think"]) expect(body).not.toHaveProperty(field);
      }
    },
  );

  it("goes for the agents that the run sends out too", async () => {
    running = await startWithAgents({
      files: agentFiles({ scout: {} }),
      handler: scriptsOf({
        caller: [hands("serial", { scout: "Look around." }), { text: "There is nothing to be seen." }],
        scout: [{ text: "Nothing is there." }],
      }),
    });
    const { services, model: server } = running;
    services.loadModel = (name, options) =>
      typeof name === "string" ? vendorModel("zhipu:glm-4.7", server, options) : name;
    await running.send("Look around", { mode: "free_work", thinking: false });
    const off = { type: "disabled" };
    expect(server.requests.map((request) => [askedBy(request), request.body["thinking"]])).toEqual([
      ["caller", off],
      ["scout", off],
      ["caller", off],
    ]);
  });
});
