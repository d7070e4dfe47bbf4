import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { afterEach, expect, it } from "vitest";
import type { CustomEvent } from "../../../src/events.ts";
import { runLoop } from "../../../src/loop/loop.ts";
import type { LoopRequest } from "../../../src/loop/request.ts";
import { servicesKey } from "../../../src/loop/services.ts";
import { LoopLimits } from "../../../src/state.ts";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function run(documentation?: LoopRequest["documentation"]) {
  const flow = await startWorkflow({ script: [{ text: "Hello." }] });
  const events: CustomEvent[] = [];
  const services = { ...flow.services, onEvent: (event: CustomEvent) => events.push(event) };
  const request: LoopRequest = {
    node: "free_work",
    system: "You are a test.",
    history: [new HumanMessage("Hi")],
    summary: null,
    tools: [],
    limits: LoopLimits.parse({}),
    model: "openai:scripted",
    requiresConfirm: false,
    silent: false,
    ...(documentation === undefined ? {} : { documentation }),
  };
  running = flow;
  const outcome = await runLoop(request, { configurable: { thread_id: "session-1", [servicesKey]: services } });
  await flow.close();
  running = undefined;
  const used = events.find((event) => event.type === "context_usage");
  return { outcome, sent: flow.model.requests[0]?.messages ?? [], tokens: used?.tokens ?? 0 };
}

it("gives the model its documentation right after the system text, counts it, and keeps it out of the turn", async () => {
  const plain = await run();
  const pair = [new HumanMessage("R".repeat(4000)), new AIMessage("I have read it.")];
  const documented = await run(pair);
  expect(documented.sent.map(({ role }) => role)).toEqual(["system", "user", "assistant", "user"]);
  expect(documented.tokens - plain.tokens).toBeGreaterThan(1000);
  expect(documented.outcome.messages).toHaveLength(1);
  expect(documented.outcome.messages[0]?.additional_kwargs["llm_metadata"]).toMatchObject({ conversation_round: 1 });
});
