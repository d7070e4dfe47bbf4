import { afterEach, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModelLoader } from "@millrace/models/load-model";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let flow: TestWorkflow | undefined;
afterEach(async () => await flow?.close());

const refusals = [
  "the prompt is longer than the context length currently available to the model; shorten the prompt",
  "the input length exceeds the context length",
  "the request exceeds the available context size, try increasing it",
];

it.each(refusals)("a prompt that Ollama refuses to cut is shortened by ourselves: %s", async (message) => {
  const step = { fault: { kind: "status", status: 400, message } } as const;
  flow = await startWorkflow({
    handler: ({ index, raw }) => (index > 0 && raw.length > 20_000 ? step : { text: `Answer ${index}.` }),
  });
  const { events, model, services } = flow;
  services.loadModel = createModelLoader(loadConfig({ OLLAMA_BASE_URL: model.ollamaUrl }));
  services.defaultModel = "ollama:scripted";
  await flow.send("word ".repeat(4000), { mode: "reply" });
  const { messages } = await flow.send("And now?", { mode: "reply" });
  expect(messages.at(-1)?.text).toMatch(/^Answer \d\.$/u);
  expect(events).toContainEqual(
    expect.objectContaining({ type: "degraded", plan: "shorter_context", error_type: "context_overflow" }),
  );
});

it("reports a prompt that Ollama silently cut, and keeps later views below that length", async () => {
  const long = "word ".repeat(12_000);
  let read = 1900;
  flow = await startWorkflow({ handler: () => ({ text: "Well said.", usage: { input: read, output: 3 } }) });
  const { events, model, services } = flow;
  services.loadModel = createModelLoader(loadConfig({ OLLAMA_BASE_URL: model.ollamaUrl }));
  services.defaultModel = "ollama:scripted";
  const limits = (): unknown[] =>
    events.flatMap((event) => (event.type === "context_usage" ? [event.limit] : [])).filter((limit) => limit > 0);
  const { messages } = await flow.send(long, { mode: "reply" });
  expect(messages.at(-1)?.text).toBe("Well said.");
  const problem = expect.stringMatching(/^the model has read only 1900 of at least 1[23]\d\d\d tokens/u);
  expect(events).toContainEqual({ type: "context_check", moment: "reply", severity: "warning", problem });
  expect(limits()).toEqual([32_768]);
  expect(model.requests.at(-1)?.body).toMatchObject({ options: { num_ctx: 32_768 }, truncate: false, shift: false });

  read = 20_000;
  events.length = 0;
  await flow.send("And now?", { mode: "reply" });
  const [limit] = limits();
  // Half of what was sent, and a little less.
  expect(limit).toBeGreaterThan(12_000 * 0.45);
  expect(limit).toBeLessThan(14_000 * 0.45);
  expect(model.requests.at(-1)?.raw.length).toBeLessThan(long.length);
  expect(events.filter((event) => event.type === "context_check" && event.moment === "reply")).toEqual([]);
});
