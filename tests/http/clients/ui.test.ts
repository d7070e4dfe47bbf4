import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { systemAssistantId } from "@millrace/engine/graphs/assistants";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const component = `
import { useState } from "react";
import { chart } from "charts";
import "./card.css";
import { title } from "./title.ts";

function Card(props: { name: string }) {
  const [count] = useState(7);
  return <b className="card" title={title}>{props.name} {count} {chart}</b>;
}
export default { card: Card };
`;
const files: Record<string, string> = {
  "langgraph.json": JSON.stringify({
    graphs: { "my-agent": "./agent.ts:graph" },
    ui: { "my-agent": "./ui/card.tsx", broken: "./ui/broken.tsx" },
    ui_config: { shared: ["charts"] },
  }),
  "agent.ts": `
import { END, START, StateGraph, StateSchema } from "@langchain/langgraph";
import { z } from "zod";
export const graph = new StateGraph(new StateSchema({ value: z.number().default(0) }))
  .addNode("n", () => ({}))
  .addEdge(START, "n")
  .addEdge("n", END);
`,
  "ui/card.tsx": component,
  "ui/card.css": ".card { color: red }",
  "ui/title.ts": "export enum Titles { One = 'one' }\nexport const title: string = Titles.One;",
  "ui/broken.tsx": "export default {",
};

let folder: string;
let server: TestServer;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-ui-"));
  await mkdir(join(folder, "ui"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  server = await startTestServer({ graphs: join(folder, "langgraph.json") });
});
afterAll(async () => {
  await server.remove();
  await rm(folder, { recursive: true, force: true });
});

async function ask(method: string, path: string, body?: object): Promise<[number, string | null, string]> {
  const response = await server.send(method, path, body);
  return [response.status, response.headers.get("content-type"), await response.text()];
}
const javascript = "text/javascript; charset=utf-8";
const Shown = z.object({ type: z.string(), props: z.record(z.string(), z.unknown()) });

/** Loads the script as the SDK's page would, and returns what the component renders from some properties. */
function shownBy(script: string, name: string): z.infer<typeof Shown> {
  const jsx = (type: string, props: object): object => ({ type, props });
  const packages: Record<string, object> = {
    react: { useState: (value: unknown) => [value] },
    "react/jsx-runtime": { jsx, jsxs: jsx },
    charts: { chart: "a chart" },
  };
  let answered: unknown[] = [];
  const page = {
    [Symbol.for("LGUI_REQUIRE")]: (wanted: string) => packages[wanted],
    [Symbol.for("LGUI_EXT_STORE")]: { respond: (...all: unknown[]) => (answered = all) },
    document: {
      createElement: () => "a place",
      getElementById: (id: string) => ({ id, shadowRoot: { appendChild: () => undefined } }),
    },
    window: {},
  };
  page.window = page;
  const context = createContext(page);
  runInContext(script, context);
  runInContext(`__LGUI_my_agent.render(${JSON.stringify(name)}, "shadow-1")`, context);
  expect([answered[0], answered[2]]).toEqual(["shadow-1", "a place"]);
  const Component = z.function({ input: [z.object({ name: z.string() })], output: Shown }).parse(answered[1]);
  return Component({ name: "Ada" });
}

describe("a component of a graph", () => {
  it("POST /ui/:agent 200: is loaded by the returned elements, and renders", async () => {
    const base = `${server.url}/ui/my-agent`;
    const [status, type, html] = await ask("POST", "/ui/my-agent", { name: "card" });
    expect([status, type]).toEqual([200, "text/html; charset=UTF-8"]);
    expect(html.split("\n")).toEqual([
      `<link rel="stylesheet" href="${base}/entrypoint.css" />`,
      `<script src="${base}/entrypoint.js" onload='__LGUI_my_agent.render("card", "{{shadowRootId}}")'></script>`,
    ]);
    expect(await ask("GET", "/ui/my-agent/entrypoint.css")).toEqual([
      200,
      "text/css; charset=utf-8",
      ".card { color: red }",
    ]);
    const [scriptStatus, scriptType, script] = await ask("GET", "/ui/my-agent/entrypoint.js");
    expect([scriptStatus, scriptType]).toEqual([200, javascript]);
    expect(shownBy(script, "card")).toEqual({
      type: "b",
      props: { className: "card", title: "one", children: ["Ada", " ", 7, " ", "a chart"] },
    });
  });

  it("is found by the id of the graph's system assistant, and of another one, as by the SDK", async () => {
    const id = systemAssistantId("my-agent");
    expect((await ask("POST", `/ui/${id}`, { name: "card" }))[2]).toContain("/ui/my-agent/entrypoint.js");
    const html = await server.client["~ui"].getComponent("my-agent", "card");
    expect(html).toContain("__LGUI_my_agent.render");
    const own = await server.client.assistants.create({ graphId: "my-agent" });
    expect((await ask("POST", `/ui/${own.assistant_id}`, { name: "card" }))[0]).toBe(200);
  });

  it("has a name that cannot inject a script", async () => {
    const [, , html] = await ask("POST", "/ui/my-agent", { name: `'></script><b a="` });
    expect(html).toContain(
      `onload='__LGUI_my_agent.render("&#39;&gt;&lt;/script&gt;&lt;b a=\\"", "{{shadowRootId}}")'`,
    );
  });

  it.each([
    ["POST", "/ui/other", 404, 'UI not found for agent "other"'],
    ["POST", "/ui/constructor", 404, 'UI not found for agent "constructor"'],
    ["GET", "/ui/my-agent/other.js", 404, "File not found"],
    ["GET", "/ui/my-agent/..%2Fcard.tsx", 404, "File not found"],
    ["GET", "/ui/other/entrypoint.js", 404, "File not found"],
    ["POST", "/ui/broken", 500, "The interface of broken cannot be bundled"],
  ])("%s %s is %d", async (method, path, status, text) => {
    const answer = await ask(method, path, method === "POST" ? { name: "card" } : undefined);
    expect([answer[0], answer[2]]).toEqual([status, expect.stringContaining(text)]);
  });

  it("POST /ui/:agent 400: without a name", async () => {
    expect((await ask("POST", "/ui/my-agent", {}))[0]).toBe(400);
  });

  it("POST /ui/:agent 404: a graph without an interface", async () => {
    expect((await ask("POST", "/ui/other", { name: "card" }))[0]).toBe(404);
  });

  it("GET /ui/:agent/:basename 404: no file of it", async () => {
    expect((await ask("GET", "/ui/my-agent/other.js"))[0]).toBe(404);
  });

  it("is bundled again when an error in it was fixed", async () => {
    await writeFile(join(folder, "ui/broken.tsx"), "export default { fine: () => null };");
    expect((await ask("POST", "/ui/broken", { name: "fine" }))[0]).toBe(200);
    await writeFile(join(folder, "ui/broken.tsx"), "export default {");
  });

  it("GET /ui/:agent/:basename 200: needs no key, while the elements that load it do", async () => {
    const keyed = await startTestServer({
      graphs: join(folder, "langgraph.json"),
      apiKeys: [{ owner: "ada", key: "k" }],
    });
    expect((await keyed.send("GET", "/ui/my-agent/entrypoint.js")).status).toBe(200);
    expect((await keyed.send("POST", "/ui/my-agent", { name: "card" })).status).toBe(401);
    await keyed.remove();
  });
});
