import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { graphNames, startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

test("the server answers that it is up, and with its version", async () => {
  expect(await (await server.send("GET", "/ok")).json()).toEqual({ ok: true });
  const info = await (await server.send("GET", "/info")).json();
  expect(info).toMatchObject({ context: "js", langgraph_js_version: "1.7.3", flags: { assistants: true } });
});

test("GET /graphs 200: the served graphs, the others with the reason, which a run of them returns too", async () => {
  const own = await startTestServer({ graphs: join(import.meta.dirname, "../../fixtures/graphs/langgraph.json") });
  onTestFinished(() => own.remove());
  const answer = await own.send("GET", "/graphs");
  expect(answer.status).toBe(200);
  const graphs: unknown = await answer.json();
  expect(graphs).toContainEqual({ graph_id: "nested", is_served: true, problem: null });
  const problem = { module: "./broken.ts:graph", message: "the key of the service is missing" };
  expect(graphs).toContainEqual({ graph_id: "broken", is_served: false, problem });
  const { thread_id } = await own.client.threads.create();
  const run = { assistant_id: "broken", input: {} };
  for (const [path, body] of [
    [`/threads/${thread_id}/runs`, run],
    ["/runs/wait", run],
    ["/runs/crons", { ...run, schedule: "0 0 1 1 *" }],
  ] as const) {
    const refused = await own.send("POST", path, body);
    expect([refused.status, await refused.text()], path).toEqual([
      404,
      'No assistant found for "broken": its graph is not served, since the key of the service is missing',
    ]);
  }
});

test("every graph has a system assistant with LangGraph's own id", async () => {
  const found = await server.client.assistants.search({ metadata: { created_by: "system" }, limit: 100 });
  expect(found.map((assistant) => assistant.graph_id).toSorted()).toEqual(graphNames.toSorted());
  const counter = await server.client.assistants.get("counter");
  expect(counter).toMatchObject({ graph_id: "counter", name: "counter", version: 1 });
  expect(await server.client.assistants.get(counter.assistant_id)).toEqual(counter);
  expect(await server.client.assistants.count({ graphId: "counter" })).toBe(1);
});

test("a search pages, sorts and selects, and returns the offset of the next page", async () => {
  const response = await server.send("POST", "/assistants/search", {
    limit: 2,
    offset: 1,
    sort_by: "name",
    sort_order: "asc",
    select: ["name"],
  });
  expect(await response.json()).toEqual(
    graphNames
      .toSorted()
      .slice(1, 3)
      .map((name) => ({ name })),
  );
  expect(response.headers.get("x-pagination-total")).toBe(String(graphNames.length));
  expect(response.headers.get("x-pagination-next")).toBe("3");
});

test("a search by a part of the name ignores case", async () => {
  const response = await server.send("POST", "/assistants/search", { name: "COUNTER" });
  expect(await response.json()).toMatchObject([{ name: "counter" }]);
});

test("the graph has nodes and edges", async () => {
  const drawing = await server.client.assistants.getGraph("counter");
  expect(drawing.nodes.map((node) => node.id)).toEqual(["__start__", "add", "__end__"]);
  expect(drawing.edges).toHaveLength(2);
  expect(await server.client.assistants.getGraph("nested", { xray: 2 })).toHaveProperty("nodes");
});

test("the schemas come from the definition of the state", async () => {
  const schemas = await server.client.assistants.getSchemas("counter");
  expect(schemas.graph_id).toBe("counter");
  expect(schemas.state_schema).toMatchObject({ properties: { value: { type: "number" } } });
});

test("subgraphs are listed with their schemas", async () => {
  const subgraphs = await server.client.assistants.getSubgraphs("nested");
  expect(Object.keys(subgraphs)).toEqual(["inside"]);
  expect(Object.keys(await server.client.assistants.getSubgraphs("nested", { namespace: "inside" }))).toEqual([
    "inside",
  ]);
});

test.each(["", "/graph", "/schemas", "/subgraphs"])("an unknown assistant is 404: %s", async (rest) => {
  const response = await server.send("GET", `/assistants/unknown${rest}`);
  expect(response.status).toBe(404);
  expect(await response.text()).toBe("Assistant not found");
});
