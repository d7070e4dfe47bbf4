import { HumanMessage, type AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { afterEach, describe, expect, it } from "vitest";
import type { CustomEvent } from "../../../src/events.ts";
import { providers } from "@millrace/models/index";
import { isProviderSearchAvailable } from "@millrace/models/provider-search";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { startWorkflow, type TestWorkflow } from "../../support/workflow.ts";
import { vendorModel, wire } from "./vendor-model.ts";

const open: (ModelServer | TestWorkflow)[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map(async (one) => await one.close()));
});

const tool = { type: "function", function: { name: "read_file", description: "d", parameters: { type: "object" } } };
const search = { type: "web_search", web_search: { enable: true, search_engine: "search_std", search_result: true } };
const tides = {
  title: "Tides",
  snippet: "High water at one.",
  url: "https://example.com/tides",
  date: "2026-01-02",
};
const found = [tides, { title: "Ships", snippet: "", url: "https://example.com/ships", date: "" }];

async function serve(...script: ModelStep[]): Promise<ModelServer> {
  const server = await startModelServer({ script });
  open.push(server);
  return server;
}

describe("a vendor", () => {
  it.each<[string, boolean, Record<string, unknown>, object[] | undefined]>([
    ["zhipu:glm-4.7", true, {}, [search]],
    ["zhipu:glm-4.7", true, { tools: [tool] }, [tool, search]],
    ["zhipu:glm-4.7", false, { tools: [tool] }, [tool]],
    // It has to call the one tool that is offered.
    ["zhipu:glm-4.7", true, { tools: [tool], tool_choice: "read_file" }, [tool]],
    ["deepseek:deepseek-chat", true, { tools: [tool] }, [tool]],
    ["openai:gpt-4o-mini", true, {}, undefined],
  ])("%s, asked with the search %s and %o, is asked to search by %o", async (name, webSearch, call, expected) => {
    const server = await serve({ text: "ok" });
    const model = vendorModel(name, server, webSearch ? { webSearch } : {}).withConfig(call);
    await model.invoke([new HumanMessage("when is high water")]);
    expect(server.requests[0]?.body.tools ?? undefined).toEqual(expected);
  });

  it("says what it has found, streamed or not, and it is kept on the message in the form that all searches have", async () => {
    const server = await serve({ wire: wire("glm-search.json") }, { wire: wire("glm-search.sse") });
    const model = vendorModel("zhipu:glm-4.7", server, { webSearch: true });
    const whole = await model.invoke([new HumanMessage("when is high water")]);
    expect(whole.additional_kwargs["web_search_results"]).toEqual(found);
    const chunks: AIMessageChunk[] = [];
    for await (const chunk of await model.stream([new HumanMessage("when is high water")])) chunks.push(chunk);
    const sum = chunks.reduce((left, right) => concat(left, right));
    expect([sum.text, sum.additional_kwargs["web_search_results"]]).toEqual(["High water is at one [ref_1].", found]);
    expect(chunks.at(-1)?.id).toBe(chunks[0]?.id);
    expect(sum.usage_metadata).toMatchObject({ input_tokens: 900, output_tokens: 12 });
  });

  it("can search where it is known to, which decides what may be chosen (SEARCH-08)", () => {
    const able = Object.keys(providers).filter((name) => isProviderSearchAvailable(name));
    expect(able).toEqual(["zhipu"]);
    expect(["zhipu:glm-4.7", "own:glm", "offline", "", "toString"].map(isProviderSearchAvailable)).toEqual([
      true,
      false,
      false,
      false,
      false,
    ]);
  });
});

describe("a run that wants its vendor to search", () => {
  async function start(...script: ModelStep[]): Promise<TestWorkflow> {
    const app = await startWorkflow({ script });
    open.push(app);
    app.services.loadModel = (name, options) =>
      typeof name === "string" ? vendorModel(name, app.model, options) : name;
    return app;
  }
  const eventsOfType = ({ events }: TestWorkflow, type: CustomEvent["type"]) =>
    events.filter((event) => event.type === type);

  it("reports it, and keeps what it found on the reply (SEARCH-01, SEARCH-05)", async () => {
    const app = await start({ wire: wire("glm-search.json") }, { text: "You are welcome." });
    const context = { mode: "free_work", model: "zhipu:glm-4.7" };
    const state = await app.send("when is high water", { ...context, web_search: "provider" });
    await app.send("thank you", context);
    expect(app.model.requests[0]?.body.tools).toContainEqual(search);
    expect(app.model.requests[1]?.body.tools).not.toContainEqual(search);
    expect(state.messages.at(-1)?.additional_kwargs["web_search_results"]).toEqual(found);
    expect(eventsOfType(app, "web_search_complete")).toEqual([
      { type: "web_search_complete", engine: "zhipu", count: 2, results: found },
    ]);
    expect(JSON.stringify(app.model.requests[1]?.messages)).not.toContain("example.com");
    expect([...eventsOfType(app, "web_search_started"), ...eventsOfType(app, "web_search_error")]).toEqual([]);
  });

  it("reports once in a turn that its vendor cannot, and is answered without", async () => {
    const list = { name: "list_files", arguments: { path: "." } };
    const app = await start({ toolCalls: [list] }, { text: "I do not know." });
    const state = await app.send("when is high water", {
      mode: "free_work",
      model: "deepseek:deepseek-chat",
      web_search: "provider",
    });
    expect(state.messages.at(-1)?.text).toBe("I do not know.");
    expect(eventsOfType(app, "web_search_error")).toMatchObject([
      { engine: "deepseek", error_type: "invalid_parameter" },
    ]);
    expect(app.model.requests.flatMap(({ body }) => body.tools ?? [])).not.toContainEqual(search);
  });
});
