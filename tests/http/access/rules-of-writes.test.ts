import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { describedRoutes } from "../../support/requests/described-routes.ts";
import { readingPosts } from "../../support/requests/reading-posts.ts";
import { administered } from "../../support/requests/shared-writes.ts";
import { openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { projectFolder } from "../../support/source-files.ts";
import type { TestServer } from "../../support/test-server.ts";
import { ownOfMemory, ownOfPlanner, readsOfToolkits } from "../../support/toolkit-writes.ts";
import { toolkits } from "../../../src/toolkits/index.ts";

/** Users see their own records. Headers name the event to refuse: with false, or a filter that matches nothing. */
const rules = `.authenticate(({ headers }) => ({
    identity: headers.get("x-user"), refuses: headers.get("x-refuses"), how: headers.get("x-how")
  }))
  .on("*", ({ event, resource, action, value, user }) => {
    if (event === user.refuses) return user.how === "no" ? false : { owner: "another user" };
    if (resource === "store") return true;
    if (action === "create") Object.assign(value.metadata, { owner: user.identity });
    return { owner: user.identity };
  })`;

let servers: RulesServers;
let server: TestServer;
beforeAll(async () => {
  servers = await openRulesServers();
  const test = join(import.meta.dirname, "..", "..");
  const graphs = {
    agent: join(projectFolder, "src/graph/workflow.ts:workflow"),
    asking: join(test, "fixtures/graphs/asking.ts:graph"),
    gated: join(test, "support/test-graphs.ts:gated"),
  };
  server = await servers.serve(rules, { allowTruncate: true }, { graphs });
});
afterAll(() => servers.remove());

/** The ids of a request, by the names of path parameters. */
type Ids = Record<string, string>;
const Made = z.record(z.string(), z.unknown());
const idOf = (made: unknown, name: string): string => z.string().parse(Made.parse(made)[name]);
const Grants = z.array(z.looseObject({ grant_id: z.string() }));
const Operations = z.looseObject({ operations: z.array(z.looseObject({ operation_id: z.string() })) });
const States = z.array(z.looseObject({ checkpoint: z.object({ checkpoint_id: z.string() }) }));
const Approvals = z.array(z.looseObject({ id: z.string() }));
const State = z.object({ next: z.array(z.string()) });
const Runs = z.array(z.looseObject({ run_id: z.string(), status: z.string() }));

let users = 0;

/** A new user, and their requests. */
function newUser() {
  users += 1;
  const name = `user-${users}`;
  const send = (method: string, path: string, body?: unknown, refuses: Record<string, string> = {}) =>
    server.send(method, path, body, { "x-user": name, ...refuses });
  const json = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await send(method, path, body);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response.status === 204 ? undefined : await response.json();
  };
  return { name, send, json };
}
type NewUser = ReturnType<typeof newUser>;

const thread = async ({ json }: NewUser) => ({
  thread_id: idOf(await json("POST", "/threads", { metadata: { graph_id: "agent" }, ttl: 600 }), "thread_id"),
});

/** A conversation that is long enough to compress, with an open proposal, and at its end a reply that was cut off. */
async function conversation(user: NewUser): Promise<Ids> {
  const { thread_id } = await thread(user);
  const add = (messages: object[]) => user.json("POST", `/threads/${thread_id}/messages`, { messages });
  await addTalk(user, thread_id);
  const proposal = { suggestions: [{ id: "go-on", label: "Go on" }] };
  await add([{ id: "message-of-the-user", role: "user", content: "hello" }]);
  await add([{ role: "assistant", content: "What next?", additional_kwargs: proposal }]);
  await add([{ role: "assistant", content: "It was", additional_kwargs: { is_partial: true } }]);
  return { thread_id, message_id: "message-of-the-user", suggestion_id: "go-on" };
}

/** A thread with an earlier state. */
async function forked(user: NewUser): Promise<Ids> {
  const ids = await conversation(user);
  const states = States.parse(await user.json("GET", `/threads/${ids["thread_id"]}/history?limit=100`));
  return { ...ids, checkpoint_id: states.at(-1)?.checkpoint.checkpoint_id ?? "" };
}

/** A thread of the workflow, so that it can be compressed. */
async function longTalk(user: NewUser): Promise<Ids> {
  const { thread_id } = await thread(user);
  const input = { messages: [{ role: "user", content: "hello" }] };
  await user.json("POST", `/threads/${thread_id}/runs/wait`, { assistant_id: "agent", input });
  await addTalk(user, thread_id);
  return { thread_id };
}

function addTalk({ json }: NewUser, threadId: string): Promise<unknown> {
  const messages = Array.from({ length: 14 }, (_, at) => ({
    role: at % 2 === 0 ? "user" : "assistant",
    content: `This is number ${at}.`,
  }));
  return json("POST", `/threads/${threadId}/messages`, { messages });
}

async function asked(user: NewUser): Promise<Ids> {
  const { thread_id } = await thread(user);
  await user.json("POST", `/threads/${thread_id}/runs/wait`, { assistant_id: "asking", input: {} });
  const [run] = Runs.parse(await user.json("GET", `/threads/${thread_id}/runs`));
  const [question] = Approvals.parse(await user.json("GET", `/threads/${thread_id}/approvals`));
  return { thread_id, run_id: run?.run_id ?? "", interrupt_id: question?.id ?? "" };
}

async function working(user: NewUser): Promise<Ids> {
  // Without a TTL, which changes while a run works.
  const thread_id = idOf(await user.json("POST", "/threads", {}), "thread_id");
  const body = { assistant_id: "gated", input: { gate: "never" } };
  const run_id = idOf(await user.json("POST", `/threads/${thread_id}/runs`, body), "run_id");
  const state = async () => State.parse(await user.json("GET", `/threads/${thread_id}/state`));
  await expect.poll(state).toEqual({ next: ["wait"] });
  return { thread_id, run_id };
}

/** A thread with a file that a tool run by hand has written. */
async function operated(user: NewUser) {
  const { thread_id } = await thread(user);
  const args = { path: `${user.name}/made.md`, content: "x" };
  await user.json("POST", `/threads/${thread_id}/tools/create_file/run`, { args });
  const { operations } = Operations.parse(await user.json("GET", `/threads/${thread_id}/operations`));
  return { thread_id, operation_id: operations[0]?.operation_id ?? "" };
}

/** A thread whose file was written by hand twice. */
async function replaced(user: NewUser) {
  const { thread_id } = await operated(user);
  const args = { path: `${user.name}/made.md`, content: "y" };
  await user.json("POST", `/threads/${thread_id}/tools/update_file/run`, { args });
  const { operations } = Operations.parse(await user.json("GET", `/threads/${thread_id}/operations`));
  return { thread_id, operation_id: operations[0]?.operation_id ?? "" };
}

/** A thread that waits for approval of a deletion, which is always asked for. */
async function atRisk(user: NewUser) {
  const { thread_id } = await thread(user);
  const args = { path: `${user.name}/.npmrc`, content: "x" };
  await user.json("POST", `/threads/${thread_id}/tools/create_file/run`, { args });
  const input = { messages: [{ role: "user", content: `delete the file ${user.name}/.npmrc` }] };
  await user.json("POST", `/threads/${thread_id}/runs/wait`, { assistant_id: "agent", input });
  const [question] = Approvals.parse(await user.json("GET", `/threads/${thread_id}/approvals`));
  return { thread_id, interrupt_id: question?.id ?? "" };
}

/** A thread with a remembered approval. */
async function granted(user: NewUser): Promise<Ids> {
  const { thread_id, interrupt_id } = await atRisk(user);
  const remember = { tool: "delete_file", path_pattern: `${user.name}/**` };
  const answer = await user.json("POST", `/threads/${thread_id}/approvals/${interrupt_id}`, {
    type: "approve",
    remember,
  });
  await user.send("GET", `/threads/${thread_id}/runs/${idOf(answer, "run_id")}/join`).then((one) => one.text());
  const [grant] = Grants.parse(await user.json("GET", `/threads/${thread_id}/grants`));
  return { thread_id, grant_id: grant?.grant_id ?? "" };
}

const cron = async ({ json }: NewUser): Promise<Ids> => ({
  cron_id: idOf(await json("POST", "/runs/crons", { assistant_id: "asking", schedule: "0 0 1 1 *" }), "cron_id"),
});
async function assistant({ json }: NewUser) {
  const id = idOf(await json("POST", "/assistants", { graph_id: "asking", name: "first" }), "assistant_id");
  await json("PATCH", `/assistants/${id}`, { name: "second" });
  return { assistant_id: id };
}
async function item({ name, json }: NewUser): Promise<Ids> {
  await json("PUT", "/store/items", { namespace: [name], key: "k", value: { a: 1 } });
  return {};
}

/** Everything that users see of their own records. */
async function viewOf({ name, json }: NewUser, { thread_id }: Ids): Promise<string[]> {
  const of = (path: string): Promise<unknown> => json("GET", `/threads/${thread_id}${path}`);
  const parts = [
    json("POST", "/threads/search", { limit: 1000 }),
    json("POST", "/runs/crons/search", {}),
    json("POST", "/assistants/search", { metadata: { owner: name } }),
    json("POST", "/store/items/search", { namespace_prefix: [name] }),
    json("GET", "/namespaces"),
  ];
  const paths = "?include=ttl /state /history?limit=100 /runs /approvals /grants /operations /usage".split(" ");
  // A deleted thread can only be missed in the search.
  const isThere = JSON.stringify(await parts[0]).includes(thread_id ?? "none");
  const seen = await Promise.all([...parts, ...(isThere ? paths.map((path) => of(path)) : [])]);
  return seen.map((part) => JSON.stringify(part).slice(0, 20_000));
}

interface Write {
  /** The events that the rules are asked for, in order. */
  asks: string[];
  /** What has to exist before. */
  on: (user: NewUser) => Promise<Ids>;
  body?: (ids: Ids, user: NewUser) => unknown;
  query?: string;
  /** It skips records it may not change without an error: several of them, or a single one that a filter hides. */
  isQuiet?: "of many" | "of what is hidden";
}

const run = (assistant_id = "asking", more: object = {}) => ({ assistant_id, input: {}, ...more });
const chat = { messages: [{ role: "user", text: "hello" }] };
const alone = { asks: ["threads:create", "threads:create_run"], on: async () => ({}) };
const onThread = { asks: ["threads:create_run"], on: thread, body: () => run() };
const update = { asks: ["threads:update"], on: thread };
const remove = { asks: ["threads:delete"], on: thread };

const Answered = z.looseObject({ id: z.string(), conversation: z.object({ id: z.string() }) });
async function response(user: NewUser): Promise<Ids> {
  const { id, conversation } = Answered.parse(
    await user.json("POST", "/v1/responses", { model: "agent", input: "hello" }),
  );
  return { response_id: id, thread_id: conversation.id };
}

/** Whether this program has the toolkits memory and planner, whose routes are below /api. */
const hasMemory = toolkits.some(({ name }) => name === "memory");
const hasPlanner = toolkits.some(({ name }) => name === "planner");

/** Every route that writes, and the events that the rules are asked for before it does. */
const writes: Record<string, Write | Write[]> = {
  "POST /threads": [
    { asks: ["threads:create"], on: async () => ({}), body: () => ({ ttl: 60 }) },
    {
      asks: ["threads:create"],
      on: async () => ({}),
      body: () => ({
        metadata: { graph_id: "asking" },
        supersteps: [{ updates: [{ values: {}, as_node: "ask_name" }] }],
      }),
    },
  ],
  "PATCH /threads/{thread_id}": { ...update, body: () => ({ metadata: { a: 1 }, ttl: 5 }) },
  "DELETE /threads/{thread_id}": [remove, { ...remove, on: working }],
  "POST /threads/{thread_id}/copy": { asks: ["threads:create"], on: conversation },
  "POST /threads/{thread_id}/fork": {
    asks: ["threads:create"],
    on: conversation,
    body: ({ message_id }) => ({ message_id }),
  },
  "POST /threads/import": {
    asks: ["threads:create"],
    on: async () => ({}),
    body: () => ({ format: "millrace.session", version: 1, graph_id: "agent", messages: [] }),
  },
  "POST /threads/prune": [
    { ...remove, body: ({ thread_id }) => ({ thread_ids: [thread_id] }), isQuiet: "of many" },
    {
      ...update,
      on: asked,
      body: ({ thread_id }) => ({ thread_ids: [thread_id], strategy: "keep_latest" }),
      isQuiet: "of many",
    },
  ],
  "POST /threads/{thread_id}/state": { ...update, on: asked, body: () => ({ values: { name: "new" } }) },
  "PATCH /threads/{thread_id}/state": { ...update, body: () => ({ metadata: { a: 1 } }) },
  "PATCH /threads/{thread_id}/info": { ...update, body: () => ({ name: "new" }) },
  "DELETE /threads/{thread_id}/usage": update,
  "POST /threads/{thread_id}/messages": { ...update, body: () => ({ messages: [{ role: "user", content: "new" }] }) },
  "PATCH /threads/{thread_id}/messages/{message_id}": { ...update, on: conversation, body: () => ({ content: "new" }) },
  "DELETE /threads/{thread_id}/messages": { ...update, on: conversation },
  "DELETE /threads/{thread_id}/messages/{message_id}": { ...update, on: conversation },
  "POST /threads/{thread_id}/messages/{message_id}/rerun": { ...onThread, on: conversation, body: () => ({}) },
  "POST /threads/{thread_id}/suggestions/{suggestion_id}": { ...onThread, on: conversation, body: () => undefined },
  "POST /threads/{thread_id}/compress": { ...onThread, on: longTalk, body: () => ({ keep_recent: 5 }) },
  "POST /threads/{thread_id}/partial/continue": { ...onThread, on: conversation, body: () => ({}) },
  "POST /threads/{thread_id}/partial/regenerate": { ...onThread, on: conversation, body: () => ({}) },
  "POST /threads/{thread_id}/operations/{operation_id}/undo": { ...update, on: operated },
  "POST /threads/{thread_id}/operations/undo": {
    ...update,
    on: operated,
    body: ({ operation_id }) => ({ operation_ids: [operation_id] }),
  },
  "POST /threads/{thread_id}/operations/{operation_id}/hunks/undo": {
    ...update,
    on: replaced,
    body: () => ({ hunks: [1] }),
  },
  // Without a thread it belongs to the user only, like an upload.
  "PUT /files/content?path={thread_id}.md&thread_id={thread_id}": { ...update, body: () => "x" },
  "PUT /threads/{thread_id}/head": { ...update, on: forked, body: ({ checkpoint_id }) => ({ checkpoint_id }) },
  "POST /threads/{thread_id}/tools/{name}/run": {
    ...update,
    on: async (user) => ({ ...(await thread(user)), name: "create_file" }),
    body: (_, { name }) => ({ args: { path: `${name}/by-hand.md`, content: "x" } }),
  },
  "POST /threads/{thread_id}/approvals/{interrupt_id}": {
    asks: ["threads:create_run"],
    on: asked,
    body: () => ({ type: "answer", value: "Ada" }),
  },
  "DELETE /threads/{thread_id}/grants/{grant_id}": { ...update, on: granted },
  "POST /threads/{thread_id}/runs": onThread,
  "POST /threads/{thread_id}/runs/stream": onThread,
  "POST /threads/{thread_id}/runs/wait": [
    onThread,
    {
      asks: ["threads:create", "threads:create_run"],
      on: async () => ({ thread_id: crypto.randomUUID() }),
      body: () => run("asking", { if_not_exists: "create" }),
    },
  ],
  "DELETE /threads/{thread_id}/runs/{run_id}": [
    { ...remove, on: asked },
    { ...remove, on: working },
  ],
  "POST /threads/{thread_id}/runs/{run_id}/cancel": [
    { ...update, on: working },
    { ...update, on: working, query: "?action=rollback&wait=true" },
  ],
  "POST /threads/{thread_id}/commands": [
    { ...onThread, body: () => ({ id: 1, method: "run.start", params: run() }) },
    {
      asks: ["threads:create", "threads:create_run"],
      on: async () => ({ thread_id: crypto.randomUUID() }),
      body: () => ({ id: 1, method: "run.start", params: run() }),
    },
    {
      asks: ["threads:create_run"],
      on: asked,
      body: ({ interrupt_id }) => ({ id: 1, method: "input.respond", params: { interrupt_id, response: "Ada" } }),
    },
  ],
  "POST /runs": { ...alone, body: () => run("asking", { on_completion: "keep" }) },
  "POST /runs/stream": { ...alone, body: () => run("asking", { on_completion: "keep" }) },
  "POST /runs/wait": { ...alone, body: () => run("asking", { on_completion: "keep" }) },
  "POST /runs/batch": { ...alone, body: () => [run("asking", { on_completion: "keep" })] },
  "POST /runs/cancel": [
    { ...update, on: working, body: ({ thread_id, run_id }) => ({ thread_id, run_ids: [run_id] }) },
    { ...update, on: working, body: () => ({ status: "all" }), isQuiet: "of many" },
  ],
  ...(hasPlanner && {
    "POST /api/ai/chat": { ...alone, body: () => chat },
    "POST /api/ai/chat/stream": { ...alone, body: () => chat },
  }),
  "POST /a2a/{assistant_id}": {
    asks: ["threads:create", "threads:create_run"],
    on: async () => ({ assistant_id: "agent" }),
    body: () => ({
      jsonrpc: "2.0",
      id: 1,
      method: "message/send",
      params: { message: { kind: "message", messageId: "1", role: "user", parts: [{ kind: "text", text: "hello" }] } },
    }),
  },
  "POST /v1/chat/completions": {
    ...alone,
    body: () => ({ model: "agent", messages: [{ role: "user", content: "hello" }] }),
  },
  "POST /v1/responses": { ...alone, body: () => ({ model: "agent", input: "hello" }) },
  "DELETE /v1/responses/{response_id}": { ...remove, on: response },
  "POST /runs/crons": {
    asks: ["crons:create", "threads:create", "threads:create_run"],
    on: async () => ({}),
    body: () => run("asking", { schedule: "0 0 1 1 *" }),
  },
  "POST /threads/{thread_id}/runs/crons": {
    asks: ["crons:create", "threads:create_run"],
    on: thread,
    body: () => run("asking", { schedule: "0 0 1 1 *" }),
  },
  "PATCH /runs/crons/{cron_id}": { asks: ["crons:update"], on: cron, body: () => ({ schedule: "1 0 1 1 *" }) },
  "POST /runs/crons/{cron_id}/run": { asks: ["crons:read", "threads:create", "threads:create_run"], on: cron },
  "DELETE /runs/crons/{cron_id}": { asks: ["crons:delete"], on: cron },
  "PUT /store/items": {
    asks: ["store:put"],
    on: item,
    body: (_, { name }) => ({ namespace: [name], key: "k", value: { a: 2 } }),
  },
  "DELETE /store/items": {
    asks: ["store:delete"],
    on: item,
    body: (_, { name }) => ({ namespace: [name], key: "k" }),
    isQuiet: "of what is hidden",
  },
  "POST /assistants": { asks: ["assistants:create"], on: async () => ({}), body: () => ({ graph_id: "asking" }) },
  "PATCH /assistants/{assistant_id}": { asks: ["assistants:update"], on: assistant, body: () => ({ name: "third" }) },
  "DELETE /assistants/{assistant_id}": { asks: ["assistants:delete"], on: assistant },
  "POST /assistants/{assistant_id}/latest": {
    asks: ["assistants:update"],
    on: assistant,
    body: () => ({ version: 1 }),
  },
  "POST /namespaces/{namespace}/current": {
    asks: ["threads:create"],
    on: async () => ({ namespace: "work" }),
    body: () => ({}),
  },
  "POST /internal/truncate": [
    { ...remove, body: () => ({ threads: true }), isQuiet: "of many" },
    { ...remove, on: asked, body: () => ({ runs: true }), isQuiet: "of many" },
    { asks: ["threads:update"], on: asked, body: () => ({ checkpointer: true }), isQuiet: "of many" },
    { asks: ["crons:delete"], on: cron, body: () => ({ crons: true }), isQuiet: "of many" },
    { asks: ["assistants:delete"], on: assistant, body: () => ({ assistants: true }), isQuiet: "of many" },
  ],
};
/** Records outside of threads: no rule applies, and others do not see them (the planner's `users-apart.test.ts`). */
const ownThings = [
  ...(hasPlanner ? ownOfPlanner : []),
  ...(hasMemory ? ownOfMemory : []),
  "POST /files/uploads",
  "DELETE /files/content",
  "PUT /namespaces/{namespace}/current",
];

/** Routes of other protocols that start runs: tested below. */
const otherProtocols = ["DELETE /mcp", "POST /mcp", "POST /v1/responses/{response_id}/cancel"];

const hows = (event: string): string[] => (event.endsWith(":create") ? ["no"] : ["no", "by a filter"]);
const cases = Object.entries(writes).flatMap(([route, entry]) =>
  [entry].flat().flatMap((write, variant) => write.asks.map((event) => ({ route, variant, event, write }))),
);

describe("rules that refuse a write", () => {
  it.each(cases)("$route ($variant) asks for $event first; a no changes nothing", async ({ route, event, write }) => {
    const user = newUser();
    const ids = await write.on(user);
    const [method = "", template = ""] = route.split(" ");
    const path = template.replaceAll(/\{(\w+)\}/gu, (_, name: string) => String(ids[name])) + (write.query ?? "");
    const body = write.body?.(ids, user);
    const before = await viewOf(user, ids);
    for (const how of hows(event)) {
      const response = await user.send(method, path, body, { "x-refuses": event, "x-how": how });
      const text = await response.text();
      const refusal = { how, status: response.status, text };
      if (template.endsWith("/commands"))
        expect(refusal).toMatchObject({ text: expect.stringContaining('"type":"error"') });
      else if (write.isQuiet === "of many" || (write.isQuiet !== undefined && how !== "no"))
        expect([200, 204], JSON.stringify(refusal)).toContain(refusal.status);
      else expect([403, 404], JSON.stringify(refusal)).toContain(refusal.status);
      expect(await viewOf(user, ids), how).toEqual(before);
    }
    // The same request, allowed, has its effect: the view above would show it.
    const response = await user.send(method, path, body);
    const text = await response.text();
    expect(response.status, text).toBeLessThan(300);
    await expect.poll(() => viewOf(user, ids)).not.toEqual(before);
  });

  it("cover each route: a new one is listed above, or here with the reason why not", async () => {
    const { routes } = await describedRoutes(server);
    const changing = routes.filter(({ method }) => method !== "GET").map(({ method, path }) => `${method} ${path}`);
    const reads = [...readingPosts, ...toolkits.flatMap(({ name }) => readsOfToolkits[name] ?? [])];
    const known = [...Object.keys(writes), ...ownThings, ...Object.keys(administered), ...otherProtocols, ...reads];
    expect(changing.toSorted()).toEqual(known.map((route) => route.replace(/\?.*/u, "")).toSorted());
  });

  it.each(Object.entries(administered))("do not apply to %s, which belongs to all users", async (route, body) => {
    const [method = "", template = ""] = route.split(" ");
    const path = template
      .replace("{name}", template.startsWith("/models") ? "openai:x" : "x")
      .replace("{engine}", "google");
    const response = await newUser().send(method, path, body);
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("belongs to all owners")]);
  });
});

describe("a tool call of MCP", () => {
  it.each([...alone.asks.map((asked) => [asked, "Forbidden"] as const), [undefined, "thread_id"] as const])(
    "is checked like a run: %s",
    async (asked, expected) => {
      const params = { name: "asking", arguments: {} };
      const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
      const accept = { accept: "application/json, text/event-stream" };
      const refused: Record<string, string> = asked === undefined ? {} : { "x-refuses": asked, "x-how": "no" };
      const answer = await newUser().send("POST", "/mcp", call, { ...accept, ...refused });
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text).toContain(expected);
      expect(text.includes("structuredContent")).toBe(asked === undefined);
    },
  );
});

describe("a user who may not create threads", () => {
  const refused = { "x-refuses": "threads:create", "x-how": "no" };

  it("continues existing threads, by any route", async () => {
    const user = newUser();
    const { thread_id } = await thread(user);
    const made = await user.send("POST", "/threads", { thread_id, if_exists: "do_nothing" }, refused);
    expect([made.status, await made.json()]).toMatchObject([200, { thread_id }]);
    const path = `/threads/${thread_id}`;
    const body = run("asking", { if_not_exists: "create" });
    expect((await user.send("POST", `${path}/runs/wait`, body, refused)).status).toBe(200);
    const command = { id: 1, method: "run.start", params: run() };
    const started = await user.send("POST", `${path}/commands`, command, refused);
    expect(await started.json()).toMatchObject({ type: "success" });
    const taken = await user.send("POST", "/threads", { thread_id }, refused);
    expect(taken.status).toBe(409);
  });

  it("gets no information about threads of others", async () => {
    const { thread_id } = await thread(newUser());
    for (const id of [thread_id, crypto.randomUUID()]) {
      const body = { thread_id: id, if_exists: "do_nothing" };
      expect((await newUser().send("POST", "/threads", body, refused)).status).toBe(403);
    }
  });
});

describe("a user who may create threads and not update them", () => {
  it("sets the TTL of a new thread, which is deleted if its run could not start", async () => {
    const user = newUser();
    const refused = { "x-refuses": "threads:update", "x-how": "no" };
    const made = await user.send("POST", "/threads", { ttl: 60 }, refused);
    expect(await made.json()).toMatchObject({ ttl: { ttl_minutes: 60 } });
    const later = { thread_id: (await thread(user)).thread_id, if_exists: "do_nothing", ttl: 5 };
    expect((await user.send("POST", "/threads", later, refused)).status).toBe(403);
    const before = await user.json("POST", "/threads/search", { limit: 1000 });
    const noDeletion = { "x-refuses": "threads:delete", "x-how": "no" };
    for (const path of ["/runs/wait", `/threads/${crypto.randomUUID()}/runs/wait`]) {
      const body = run("not-served", { if_not_exists: "create" });
      expect((await user.send("POST", path, body, noDeletion)).status).toBe(404);
    }
    expect(await user.json("POST", "/threads/search", { limit: 1000 })).toEqual(before);
  });

  it.each(["no", "by a filter"])("gives a new thread its history and its TTL (%s)", async (how) => {
    const user = newUser();
    const updates = [{ as_node: "ask_age", values: { name: "Ada" } }];
    const body = { metadata: { graph_id: "asking" }, supersteps: [{ updates }], ttl: 60 };
    const made = await user.send("POST", "/threads", body, { "x-refuses": "threads:update", "x-how": how });
    const thread: unknown = await made.json();
    expect([made.status, thread]).toMatchObject([200, { values: { name: "Ada" }, ttl: { ttl_minutes: 60 } }]);
    const path = `/threads/${idOf(thread, "thread_id")}`;
    expect(await user.json("GET", path)).toMatchObject({ status: "idle", values: { name: "Ada" } });
  });
});

describe("truncating by a user of the rules", () => {
  it("POST /internal/truncate 403: the store of all users is refused, before anything is deleted", async () => {
    const user = newUser();
    await item(user);
    const ids = await thread(user);
    const before = await viewOf(user, ids);
    const response = await user.send("POST", "/internal/truncate", { store: true, threads: true, crons: true });
    expect([response.status, await response.text()]).toEqual([403, expect.stringContaining("items of all users")]);
    expect(await viewOf(user, ids)).toEqual(before);
  });
});

describe("a user who may read and start no run", () => {
  it("sees the questions of a thread, also those that were answered by a timeout", async () => {
    const user = newUser();
    const { thread_id } = await atRisk(user);
    const refused = { "x-refuses": "threads:create_run", "x-how": "no" };
    const look = (): Promise<Response> => user.send("GET", `/threads/${thread_id}/approvals`, undefined, refused);
    server.config.approvalTimeoutHours = 1 / 3_600_000;
    try {
      await expect.poll(async () => (await look()).text()).toBe("[]");
    } finally {
      server.config.approvalTimeoutHours = undefined;
    }
  });
});

describe("a user who may not delete threads", () => {
  it("deletes an assistant, and its threads are kept", async () => {
    const user = newUser();
    const { assistant_id } = await assistant(user);
    const { thread_id } = await thread(user);
    await user.json("POST", `/threads/${thread_id}/runs/wait`, { assistant_id, input: {} });
    for (const how of ["no", "by a filter"]) {
      const id = how === "no" ? assistant_id : (await assistant(user)).assistant_id;
      const refused = { "x-refuses": "threads:delete", "x-how": how };
      const gone = await user.send("DELETE", `/assistants/${id}?delete_threads=true`, undefined, refused);
      expect([how, gone.status]).toEqual([how, 200]);
      expect((await user.send("GET", `/assistants/${id}`)).status).toBe(404);
    }
    expect(await user.json("GET", `/threads/${thread_id}`)).toMatchObject({ thread_id });
  });
});
