import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

/** JSON as it is sent: `JSON.stringify` of an object literal would set the prototype instead. */
const poisons = [
  `{"__proto__":{"polluted":1}}`,
  `{"constructor":{"prototype":{"polluted":1}}}`,
  `{"prototype":{"polluted":1}}`,
  `{"a":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}}`,
  `{"\\u005f_proto__":{"polluted":1}}`,
  `{"__proto__":null,"hasOwnProperty":1,"toString":1,"then":1}`,
];
const names = ["__proto__", "constructor", "prototype", "hasOwnProperty", "toString", "__defineGetter__"];

/** Whether Object.prototype has changed: the only property that a request could have given to all objects. */
function isClean(): boolean {
  const probe: object = {};
  return !("polluted" in probe) && !("polluted" in Object) && Object.keys(Object.prototype).length === 0;
}

async function newThread(): Promise<string> {
  return (await server.client.threads.create()).thread_id;
}

const run = (field: string, poison: string): string =>
  `{"assistant_id":"mirror","input":{"seen":{}},${field.replace("POISON", poison)}}`;

describe("a body with the names of prototypes changes no prototype", () => {
  /** Every route that takes an object with free keys (S7 in reliability.md). */
  const places: [string, (poison: string, thread: string) => [method: string, path: string, body: string]][] = [
    ["metadata of a thread", (poison) => ["POST", "/threads", `{"metadata":${poison}}`]],
    ["a change of metadata", (poison, id) => ["PATCH", `/threads/${id}`, `{"metadata":${poison}}`]],
    ["a search", (poison) => ["POST", "/threads/search", `{"metadata":${poison}}`]],
    ["a search of assistants", (poison) => ["POST", "/assistants/search", `{"metadata":${poison}}`]],
    [
      "a new assistant",
      (poison) => ["POST", "/assistants", `{"graph_id":"counter","config":${poison},"metadata":${poison}}`],
    ],
    ["a state", (poison, id) => ["POST", `/threads/${id}/state`, `{"values":${poison},"as_node":"look"}`]],
    ["a request for the history", (poison, id) => ["POST", `/threads/${id}/history`, `{"metadata":${poison}}`]],
    [
      "a run's input",
      (poison, id) => ["POST", `/threads/${id}/runs/wait`, `{"assistant_id":"mirror","input":{"seen":${poison}}}`],
    ],
    [
      "a run's config",
      (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"config":{"configurable":POISON}`, poison)],
    ],
    ["a whole config", (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"config":POISON`, poison)]],
    ["a run's context", (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"context":POISON`, poison)]],
    ["a run's metadata", (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"metadata":POISON`, poison)]],
    [
      "a command's update",
      (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"command":{"update":POISON}`, poison)],
    ],
    [
      "a command's answer",
      (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"command":{"resume":POISON}`, poison)],
    ],
    ["a checkpoint", (poison, id) => ["POST", `/threads/${id}/runs/wait`, run(`"checkpoint":POISON`, poison)]],
    ["a whole body", (poison) => ["POST", "/threads", poison]],
  ];

  test.each(places)("%s", async (_, requestFor) => {
    const id = await newThread();
    for (const poison of poisons) {
      const [method, path, body] = requestFor(poison, id);
      const response = await server.send(method, path, body);
      const text = await response.text();
      expect(response.status, `${body}: ${text}`).toBeLessThan(500);
      expect(isClean(), body).toBe(true);
    }
    // The stored value is read and merged again.
    expect((await server.send("GET", `/threads/${id}/state`)).status).toBe(200);
    await server.client.runs.wait(id, "mirror", { input: { seen: {} } });
    expect(isClean()).toBe(true);
  });
});

describe("the name of a prototype", () => {
  const places = [
    "assistants/NAME",
    "assistants/NAME/schemas",
    "assistants/NAME/graph",
    "threads/NAME",
    "threads/NAME/state",
    "docs/NAME",
  ];

  test.each(places)("in /%s is 404", async (place) => {
    for (const name of names) {
      const { status } = await server.send("GET", `/${place.replace("NAME", name)}`);
      expect([400, 404], name).toContain(status);
    }
  });

  test.each(names)("%s is no assistant, node, mode or channel", async (name) => {
    const id = await newThread();
    const bodies = [
      { assistant_id: name, input: {} },
      { assistant_id: "counter", input: {}, stream_mode: [name] },
      { assistant_id: "counter", command: { goto: name } },
    ];
    for (const body of bodies) {
      const { status } = await server.send("POST", `/threads/${id}/runs/wait`, body);
      expect(status, JSON.stringify(body)).toBeLessThan(500);
    }
    const update = await server.send("POST", `/threads/${id}/state`, { values: { value: 1 }, as_node: name });
    expect(update.status).toBeLessThan(500);
    const select = await server.send("POST", "/threads/search", { select: [name] });
    expect(await select.json()).toEqual(expect.arrayContaining([{}]));
    expect(isClean()).toBe(true);
  });
});
