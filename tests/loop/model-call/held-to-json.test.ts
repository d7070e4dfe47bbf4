import { isAIMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { wire } from "../../models/vendors/vendor-model.ts";
import type { ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(...script: ModelStep[]): Promise<TestWorkflow> {
  running = await startWorkflow({ script, stream: true });
  return running;
}

const question: ModelStep = { text: '{"guess": "A page.", "questions": ["On what?"]}' };
const formats = ({ model }: TestWorkflow): unknown[] => model.requests.map(({ body }) => body["response_format"]);
const json = { type: "json_object" };

describe("an answer that the program reads", () => {
  it("is asked for as JSON, one for the user is not", async () => {
    const flow = await start(question, { text: "Fine." });
    await flow.send("write a report");
    const { messages } = await flow.answer("on mills");
    expect(messages.at(-1)?.text).toBe("Fine.");
    expect(formats(flow)).toEqual([json, undefined]);
  });

  it("is asked for in words alone where the server refuses the request, at once and later", async () => {
    const refusal: ModelStep = { fault: { kind: "status", status: 400, message: "response_format is not supported" } };
    const flow = await start(refusal, question, { text: "Fine." });
    await flow.send("write a report");
    await flow.answer("on mills");
    expect(formats(flow)).toEqual([json, undefined, undefined]);
    flow.model.assertFinished();
  });
});

it("estimates what was used where the vendor does not say", async () => {
  const flow = await start({ wire: wire("compatible-answer.sse") });
  const context = { mode: "free_work", limits: { price: { input: 1, output: 2 } } };
  const { messages } = await flow.send("What does notes.txt say?", context);
  const reply = messages.findLast(isAIMessage);
  expect(reply?.additional_kwargs).toMatchObject({ usage_estimated: true });
  const usage = flow.events.find((event) => event.type === "token_usage");
  expect(usage?.input_tokens).toBeGreaterThan(100);
  // "The file says: 4." and "It says four."
  expect(usage?.output_tokens).toBeGreaterThan(8);
  expect(usage?.output_tokens).toBeLessThan(30);
});
