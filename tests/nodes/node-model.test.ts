import { HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { profileOf, type ProfileRows } from "@millrace/models/registry/profiles";
import { modelOfRole, type ServerRoles } from "@millrace/models/registry/roles";
import { startWorkflow, type ModelStep, type TestWorkflow } from "../support/testing.ts";

let work: TestWorkflow | undefined;
afterEach(async () => await work?.close());

/** A workflow whose server says so of roles and models. */
async function start(script: ModelStep[], server: { roles?: ServerRoles; rows?: ProfileRows }): Promise<TestWorkflow> {
  work = await startWorkflow({ script });
  const { roles = { main: "openai:usual" }, rows = {} } = server;
  work.services.models = { roles: () => roles, profile: (model) => profileOf(model, rows) };
  return work;
}

const asked = ({ model }: TestWorkflow): string[] => model.requests.map(({ body }) => body.model);
const clarify = { text: JSON.stringify({ guess: "A report.", questions: ["On what?"] }) };

describe("the model of a part of the work", () => {
  it("is the one of its role, and the main one for everything else", async () => {
    const roles = { main: "openai:main", intent: "openai:quick", plan: "openai:deep" };
    const workflow = await start([{ text: "Hello." }, { text: "Hi." }], { roles });
    await workflow.send("say hello", { mode: "plan" });
    await workflow.send("say it again");
    expect(asked(workflow)).toEqual(["deep", "main"]);
    await workflow.close();
    const other = await start([clarify], { roles });
    await other.send("write a report");
    expect(asked(other)).toEqual(["quick"]);
  });

  it("is that of summaries for a summary", async () => {
    const script = [
      ...["One.", "Two.", "Three."].map((text) => ({ text })),
      { text: '{"goal": "talk"}' },
      { text: "Four." },
    ];
    const workflow = await start(script, { roles: { main: "openai:main", compress: "openai:brief" } });
    for (const text of ["one", "two", "three"]) await workflow.send(`tell me about ${text}`);
    await workflow.send("tell me about four", { compress: true });
    expect(asked(workflow)).toEqual(["main", "main", "main", "brief", "main"]);
  });

  it("is the run's own where it names one, for a role or for all of them without a model", async () => {
    const roles = { main: "openai:main", intent: "openai:quick" };
    const workflow = await start([{ text: "Hello." }, { text: "Hello." }], { roles });
    await workflow.send("Think it over and then tell me more", { model: "openai:chosen" });
    await workflow.send("say hello", { mode: "plan", model: "openai:chosen", role_models: { plan: "openai:deep" } });
    expect(asked(workflow)).toEqual(["chosen", "deep"]);
  });

  it("changes with what the server says, from the next call on", async () => {
    const roles = { main: "openai:one" };
    const workflow = await start([{ text: "One." }, { text: "Two." }], { roles });
    await workflow.send("hello", { mode: "reply" });
    roles.main = "openai:two";
    await workflow.send("hello again", { mode: "reply" });
    expect(asked(workflow)).toEqual(["one", "two"]);
  });

  it("is for images one that sees them", async () => {
    const rows = { "openai:blind": { vision_model: "openai:seeing" }, "openai:gpt*": { vision: true } };
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } };
    const workflow = await start([{ text: "A." }, { text: "B." }, { text: "C." }, { text: "D." }], { rows });
    await workflow.send("hello", { mode: "reply", model: "openai:blind" });
    await workflow.update({ messages: [new HumanMessage({ content: [{ type: "text", text: "look" }, image] })] });
    await workflow.send("what is in it?", { mode: "reply", model: "openai:blind" });
    await workflow.send("and now?", { mode: "reply", model: "openai:gpt-x" });
    await workflow.send("and now?", { mode: "reply", model: "openai:blind", role_models: { vision: "openai:eye" } });
    expect(asked(workflow)).toEqual(["blind", "seeing", "gpt-x", "eye"]);
  });

  it("is by the more exact word: the run's of the role, the server's of it, the run's main one, the server's", () => {
    const name = fc.option(fc.string({ minLength: 1 }), { nil: undefined });
    fc.assert(
      fc.property(fc.record({ plan: name, main: name }), fc.record({ plan: name }), (run, server) => {
        const words = [run.plan, server.plan, run.main, "last"];
        expect(modelOfRole("plan", run, { ...server, main: "last" })).toBe(words.find((word) => word !== undefined));
        expect(modelOfRole("main", run, { ...server, main: "last" })).toBe(run.main ?? "last");
      }),
    );
  });
});

describe("the price of a run", () => {
  const usage = { input: 1_000_000, output: 1_000_000 };
  const rows: ProfileRows = {
    "openai:usual": { price: { input: 1, output: 2, currency: "USD" } },
    "openai:other": { price: { input: 10, output: 20, currency: "USD" } },
  };
  const costs = async (workflow: TestWorkflow): Promise<unknown> =>
    (await workflow.state()).messages.at(-1)?.additional_kwargs["llm_metadata"];

  it("is what is known of its model", async () => {
    const workflow = await start([{ text: "Hello.", usage }], { rows });
    await workflow.send("hello", { mode: "reply" });
    expect(await costs(workflow)).toMatchObject({ model_name: "openai:usual", input_cost: 1, output_cost: 2 });
  });

  it("is what the run says where it says so", async () => {
    const workflow = await start([{ text: "Hello.", usage }], { rows });
    await workflow.send("hello", { mode: "reply", limits: { price: { input: 3, output: 4 } } });
    expect(await costs(workflow)).toMatchObject({ input_cost: 3, output_cost: 4 });
  });

  it("is that of the model which was asked instead", async () => {
    const workflow = await start([{ fault: { kind: "status", status: 404 } }, { text: "Hello.", usage }], { rows });
    await workflow.send("hello", { mode: "reply", fallback_model: "openai:other" });
    expect(await costs(workflow)).toMatchObject({ model_name: "openai:other", input_cost: 10, output_cost: 20 });
  });

  it("is left out where it is not known", async () => {
    const workflow = await start([{ text: "Hello.", usage }], {});
    await workflow.send("hello", { mode: "reply" });
    expect(await costs(workflow)).not.toHaveProperty("input_cost");
  });
});
