import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModelLoader } from "@millrace/models/load-model";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

type Wire = "openai" | "ollama";

async function start(handler: (request: ModelRequest) => ModelStep, stream = true): Promise<TestWorkflow> {
  running = await startWorkflow({ stream, handler, files: { "a.txt": "content of a" } });
  const { url, ollamaUrl } = running.model;
  running.services.loadModel = createModelLoader(loadConfig({ OPENAI_BASE_URL: url, OLLAMA_BASE_URL: ollamaUrl }));
  return running;
}

const context = (wire: Wire, retries = 0): Record<string, unknown> => ({
  mode: "free_work",
  model: `${wire}:scripted`,
  limits: { agentic_connection_retries: retries },
});
const isStreamed = ({ body, protocol }: ModelRequest): boolean => body.stream ?? protocol === "ollama";
const degraded = ({ events }: TestWorkflow): unknown[] =>
  events.flatMap((event) => (event.type === "degraded" ? [[event.plan, event.error_type]] : []));
const reads: ModelStep = { toolCalls: [{ name: "read_file", arguments: { path: "a.txt" } }] };
const status = (code: number, message: string): ModelStep => ({ fault: { kind: "status", status: code, message } });
const silent: ModelStep = { text: "never said", fault: { kind: "cut", after: 0, clean: true } };

describe.each<Wire>(["openai", "ollama"])("a model of %s that cannot stream (LLM-24)", (wire) => {
  it.each<[string, ModelStep, string]>([
    ["ends its stream before the first word", silent, "network"],
    // In a stream of events such a line means nothing.
    ["sends what is no stream", { wire: "<html>Please sign in</html>" }, wire === "openai" ? "network" : "server"],
    ["breaks the connection after the headers", { text: "x", fault: { kind: "cut", after: 0 } }, "network"],
    ["says so", status(400, "Your organization must be verified to stream this model."), "api_error"],
    ["has no such thing", status(501, "streaming is not implemented"), "server"],
  ])("and %s is asked for its answer in one piece, to the end of the turn", async (_name, broken, error) => {
    const flow = await start((request) => {
      if (isStreamed(request)) return broken;
      return request.index === 1 ? reads : { text: "It says: content of a." };
    });
    const { messages } = await flow.send("Read a.txt", context(wire));
    expect(messages.at(-1)?.text).toBe("It says: content of a.");
    expect([...flow.streamed.values()].filter((text) => text === "It says: content of a.")).toHaveLength(1);
    expect(flow.model.requests.map(isStreamed)).toEqual([true, false, false]);
    expect(flow.model.requests.map(({ body }) => body.model)).toEqual(Array(3).fill("scripted"));
    expect(degraded(flow)).toEqual([["without_streaming", error]]);
  });

  it("is asked to stream again in the next turn", async () => {
    const flow = await start(({ index }) => (index === 0 ? silent : { text: `Answer ${index} is here.` }));
    await flow.send("Hello", context(wire));
    const { messages } = await flow.send("Hello again", context(wire));
    expect(flow.model.requests.map(isStreamed)).toEqual([true, false, true]);
    expect(messages.at(-1)?.text).toBe("Answer 2 is here.");
  });

  it.each<[string, ModelStep, string]>([
    ["refuses the key", status(401, "the stream of requests needs a key"), "auth"],
    ["does not know the model", status(404, "no stream of that name"), "not_found"],
    ["is down", status(503, "stream me no streams"), "server"],
    ["resets the connection", { fault: { kind: "reset" } }, "network"],
    ["refuses something else", status(400, "upstream says: strange field"), "api_error"],
  ])("is not asked in one piece where it %s", async (_name, step, code) => {
    const flow = await start(() => step);
    await expect(flow.send("Hello", context(wire))).rejects.toMatchObject({ code });
    expect(flow.model.requests.map(isStreamed)).toEqual([true]);
  });

  it("is not asked again once words are out", async () => {
    const flow = await start(() => ({ text: "one two three", fault: { kind: "cut", after: 2 } }));
    await expect(flow.send("Hello", context(wire))).rejects.toMatchObject({ code: "network" });
    expect(flow.model.requests).toHaveLength(1);
  });

  it("gives way to the other model where it does not answer in one piece either, which streams", async () => {
    const flow = await start((request) => {
      if (request.body.model === "other") return { text: "The other one." };
      return isStreamed(request) ? silent : status(503, "overloaded");
    });
    const { messages } = await flow.send("Hello", { ...context(wire), fallback_model: `${wire}:other` });
    expect(messages.at(-1)?.text).toBe("The other one.");
    expect(flow.model.requests.map((request) => [request.body.model, isStreamed(request)])).toEqual([
      ["scripted", true],
      ["scripted", false],
      ["other", true],
    ]);
    expect(degraded(flow)).toEqual([
      ["without_streaming", "network"],
      ["other_model", "server"],
    ]);
  });

  it("is requested whole from the start if no client streams", async () => {
    const flow = await start(() => ({ text: "Whole." }), false);
    await flow.send("Hello", context(wire));
    expect(flow.model.requests.map(isStreamed)).toEqual([false]);
    expect(degraded(flow)).toEqual([]);
  });
});

it("tries to stream once more, before a breaker of three failures could open", async () => {
  const flow = await start((request) => (isStreamed(request) ? silent : { text: "Here it is." }));
  const { messages } = await flow.send("Hello", context("ollama", 3));
  expect(messages.at(-1)?.text).toBe("Here it is.");
  expect(flow.model.requests.map(isStreamed)).toEqual([true, true, false]);
  expect(flow.events.filter(({ type }) => type === "retry")).toHaveLength(1);
});
