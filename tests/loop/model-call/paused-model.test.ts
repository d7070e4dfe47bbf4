import { afterEach, describe, expect, it } from "vitest";
import { userSentence } from "@millrace/engine/errors/error-texts";
import type { ModelRequest, ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";

let flow: TestWorkflow | undefined;
afterEach(async () => {
  await flow?.close();
  flow = undefined;
});

const context = { mode: "free_work", limits: { agentic_connection_retries: 0 } };
const down: ModelStep = { fault: { kind: "status", status: 503 } };
const isFirst = ({ body }: ModelRequest): boolean => body.model === "scripted";

describe("a model that is down", () => {
  it("is not asked any more after five failures; the other one answers each time", async () => {
    flow = await startWorkflow({
      handler: (request) => (isFirst(request) ? down : { text: "The other one is here." }),
    });
    const both = { ...context, fallback_model: "openai:other" };
    for (let turn = 0; turn < 8; turn += 1) {
      const { messages } = await flow.send(`Question ${turn}`, both);
      expect(messages.at(-1)?.text).toBe("The other one is here.");
    }
    expect(flow.model.requests.filter(isFirst)).toHaveLength(5);
    expect(flow.model.requests).toHaveLength(13);
    const reasons = flow.events.flatMap((event) => (event.type === "degraded" ? [event.error_type] : []));
    expect(reasons).toEqual([...Array<string>(5).fill("server"), ...Array<string>(3).fill("service_paused")]);
  });

  it("ends the turn with friendly words where there is no other, and not the run with an error", async () => {
    flow = await startWorkflow({ handler: () => down });
    for (let turn = 0; turn < 5; turn += 1) {
      await expect(flow.send("Hello there", context)).rejects.toMatchObject({ code: "server" });
    }
    const { messages } = await flow.send("你好，在吗", context);
    expect(messages.at(-1)?.text).toContain(userSentence("service_paused", "zh"));
    expect(messages.at(-1)?.additional_kwargs["end_reason"]).toBe("error");
    expect(flow.model.requests).toHaveLength(5);
  });
});
