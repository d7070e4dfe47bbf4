import { HumanMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { vendorModel } from "../models/vendors/vendor-model.ts";
import { startWorkflow, type TestWorkflow } from "../support/workflow.ts";

let running: TestWorkflow | undefined;
afterEach(async () => {
  await running?.close();
  running = undefined;
});

const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };

/** Which model of the vendor is asked, and in which order it gets the parts of a message. */
async function asked(model: string, hasImage: boolean): Promise<{ model: string | undefined; parts: unknown }> {
  running = await startWorkflow({ script: [{ text: "A mill." }] });
  const { services, model: server } = running;
  services.loadModel = (name, options) => (typeof name === "string" ? vendorModel(name, server, options) : name);
  services.models = { roles: () => ({ main: model }), profile: builtInProfiles };
  if (hasImage) {
    const content = [{ type: "text", text: "Look at this." }, image];
    await running.update({ messages: [new HumanMessage({ content })] });
  }
  await running.send("What is in it?", { mode: "reply" });
  const body = server.requests[0]?.body;
  const parts = body?.messages.find(({ content }) => Array.isArray(content))?.content;
  return { model: body?.model, parts };
}

describe("messages with images (LLM-07)", () => {
  it.each([
    ["zhipu:glm-4.7", "glm-4.6v"],
    ["zhipu:glm-4.6v", "glm-4.6v"],
    ["zhipu:glm-4.6v-flash", "glm-4.6v-flash"],
  ])("of %s are put to %s, which gets the image before the text", async (model, seeing) => {
    const { model: name, parts } = await asked(model, true);
    expect(name).toBe(seeing);
    expect(parts).toMatchObject([{ type: "image_url" }, { type: "text" }]);
  });

  it("are what changes the model: without them it stays", async () => {
    expect(await asked("zhipu:glm-4.7", false)).toEqual({ model: "glm-4.7", parts: undefined });
  });

  it("go to the counterpart of another vendor's model too, in the order they came in", async () => {
    const { model, parts } = await asked("qwen:qwen-plus", true);
    expect(model).toBe("qwen-vl-plus");
    expect(parts).toMatchObject([{ type: "text" }, { type: "image_url" }]);
  });
});
