import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startTestServer, type TestServer } from "../../support/testing.ts";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "graphs");
const names = "annotated narrow uncompiled promised factory asyncFactory nested zod4 functional".split(" ");

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-schemas-"));
  const graphs = {
    ...Object.fromEntries(names.map((name) => [name, join(fixtures, `described.ts:${name}`)])),
    zod3: join(fixtures, "described-zod3.mjs:graph"),
    zodMessages: join(fixtures, "described-zod3.mjs:messages"),
    stateSchema: join(fixtures, "state-schema.ts:graph"),
    reactAgent: join(fixtures, "react-agent.ts:agent"),
    agent: join(fixtures, "langchain-agent.mjs:agent"),
    deepAgent: join(fixtures, "deep-agent.mjs:agent"),
  };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  server = await startTestServer({ graphs: join(folder, "langgraph.json") });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

const messages = {
  type: "array",
  items: { type: "object", properties: { type: { enum: expect.arrayContaining(["human", "ai"]) } } },
  langgraph_type: "messages",
};
const context = {
  type: "object",
  properties: {
    model: { type: "string", enum: ["anthropic", "openai"], description: "Which model answers." },
    temperature: { type: "number" },
  },
};

describe("the first request for schemas", () => {
  it("contains the types of an Annotation, with their comments", async () => {
    // On a busy machine the compiler takes longer than a request waits; then the next request has the types.
    const typed = async () => {
      const found = await server.client.assistants.getSchemas("annotated");
      return JSON.stringify(found.state_schema).includes('"description"') ? found : undefined;
    };
    const schemas = await vi.waitUntil(typed, { timeout: 50_000 });
    const people = {
      type: "object",
      properties: {
        name: { type: "string", description: "As they are called." },
        age: { type: "number" },
        boss: { $ref: "#/definitions/Person", description: "Who leads them." },
      },
      required: ["name"],
    };
    expect(schemas.state_schema).toEqual({
      $schema: "http://json-schema.org/draft-07/schema#",
      type: "object",
      properties: {
        messages: expect.objectContaining({ type: "array", langgraph_type: "messages" }),
        topic: { type: "string", description: "What it is about." },
        mode: { type: "string", enum: ["long", "short"] },
        size: { type: "number", enum: [1, 2, 10] },
        colour: { anyOf: [{ type: "null" }, { type: "string", enum: ["blue", "red"] }] },
        scores: { type: "array", items: { type: "number" } },
        people: { type: "array", items: { $ref: "#/definitions/Person" } },
        by_name: { type: "object", additionalProperties: { type: "number" } },
        place: { type: "array", items: [{ type: "number" }, { type: "number" }], minItems: 2, maxItems: 2 },
        since: { type: "string", format: "date-time" },
        seen: {},
        call: {},
        last: expect.objectContaining({ type: "object", langgraph_type: "message" }),
        done: { type: "boolean" },
        anything: {},
      },
      definitions: { Person: people },
    });
    expect(schemas.input_schema).toEqual(schemas.state_schema);
    expect(schemas.output_schema).toEqual(schemas.state_schema);
    expect(schemas.context_schema).toMatchObject(context);
    expect(schemas.config_schema).toEqual(schemas.context_schema);
  });

  it("contains input and output if they differ from the state", async () => {
    const schemas = await server.client.assistants.getSchemas("narrow");
    const text = { type: "string" };
    expect(schemas.input_schema?.properties).toEqual({ question: text });
    expect(schemas.output_schema?.properties).toEqual({ answer: text });
    expect(schemas.state_schema?.properties).toEqual({ question: text, answer: text, draft: text });
    expect(schemas.context_schema).toBeNull();
  });

  it.each(["uncompiled", "promised", "factory", "asyncFactory"])("has the types of a graph that is %s", async (id) => {
    const schemas = await server.client.assistants.getSchemas(id);
    const question = { type: "object", properties: { question: { type: "string" } } };
    expect(schemas).toMatchObject({ state_schema: question, input_schema: question, output_schema: question });
  });

  it("contains the input and output of a workflow of the functional API", async () => {
    expect(await server.client.assistants.getSchemas("functional")).toMatchObject({
      input_schema: { properties: { value: { type: "number" }, unit: { type: "string", enum: ["km", "m"] } } },
      output_schema: { properties: { length: { type: "number" } } },
      state_schema: { properties: { length: { type: "number" } } },
    });
  });

  it("contains zod schemas, and LangGraph's metadata beside them", async () => {
    expect(await server.client.assistants.getSchemas("zod3")).toMatchObject({
      state_schema: {
        properties: {
          messages: { type: "array", items: { type: "string" }, langgraph_type: "messages" },
          status: { type: "string", enum: ["idle", "done"], default: "idle", description: "How far it is" },
        },
      },
      input_schema: { properties: { messages: { type: "string", langgraph_type: "messages" } } },
    });
    expect(await server.client.assistants.getSchemas("zod4")).toMatchObject({
      state_schema: {
        properties: {
          messages: { type: "array", langgraph_type: "messages", description: "What was said" },
          level: { type: "string", enum: ["hard", "easy"], title: "Level", description: "How hard it is" },
          note: { type: "string" },
        },
        required: expect.arrayContaining(["level"]),
      },
      // Declared by types, beside a state that is declared by zod.
      context_schema: context,
      config_schema: context,
    });
    const tone = { properties: { tone: { type: "string", description: "How it speaks" } } };
    expect(await server.client.assistants.getSchemas("zodMessages")).toMatchObject({
      state_schema: { properties: { messages: { langgraph_type: "messages" } } },
      input_schema: { properties: { messages: { langgraph_type: "messages" } } },
      context_schema: tone,
      config_schema: tone,
    });
  });

  it.each(["stateSchema", "reactAgent", "agent", "deepAgent"])("contains the messages of %s", async (id) => {
    const schemas = await server.client.assistants.getSchemas(id);
    const known = { type: "object", properties: { messages: { langgraph_type: "messages" } } };
    expect(schemas).toMatchObject({ state_schema: known, input_schema: known, output_schema: known });
  });

  it("is the same for an assistant that a user created", async () => {
    const { assistant_id } = await server.client.assistants.create({ graphId: "annotated" });
    const { graph_id, ...schemas } = await server.client.assistants.getSchemas(assistant_id);
    expect(graph_id).toBe("annotated");
    expect(schemas).toMatchObject({ config_schema: context, context_schema: context });
  });
});

describe("the schemas of subgraphs", () => {
  const inner = (name: string, values: string[]): object => ({
    properties: { messages, [name]: { type: "string", enum: values } },
  });

  it("contain their types, at any depth", async () => {
    expect(await server.client.assistants.getSubgraphs("nested", { recurse: true })).toMatchObject({
      middle: { state: inner("middle", ["left", "right"]), input: inner("middle", ["left", "right"]) },
      "middle|leaf": { state: inner("leaf", ["one", "two"]), output: inner("leaf", ["one", "two"]) },
      called: { state: inner("leaf", ["one", "two"]) },
    });
    expect(Object.keys(await server.client.assistants.getSubgraphs("nested", { namespace: "called" }))).toEqual([
      "called",
    ]);
  });
});
