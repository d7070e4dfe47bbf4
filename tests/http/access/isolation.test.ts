import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { openGate } from "../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";
import { describedRoutes, type DescribedRoute } from "../../support/requests/described-routes.ts";
import { toolkits } from "../../../src/toolkits/index.ts";

/** A text that only Ada's records contain. */
const canary = "canary-of-ada-5c1d";
const keys = { ada: "key-of-ada", adasOther: "other-key-of-ada", bob: "key-of-bob", admin: "key-of-admin" };
const headersOf = (key: string): Record<string, string> => ({ "x-api-key": key });
const ada = headersOf(keys.ada);
const bob = headersOf(keys.bob);

/** What one owner has, by the path parameter that may hold its id. */
type Ids = Record<
  | "thread_id"
  | "run_id"
  | "checkpoint_id"
  | "interrupt_id"
  | "cron_id"
  | "task_id"
  | "schedule_id"
  | "memory_id"
  | keyof ReturnType<typeof ofTheWorkflow>,
  string
>;

const HasIds = z.looseObject({ thread_id: z.string() });
const RunIds = HasIds.extend({ run_id: z.string() });
const State = z.looseObject({ checkpoint: z.object({ checkpoint_id: z.string() }) });
const CronIds = z.looseObject({ cron_id: z.string() });
const Made = z.object({ data: z.looseObject({ id: z.string() }) });
const Planned = z.object({ data: z.looseObject({ schedule_id: z.string() }) });
const Approvals = z.array(z.looseObject({ id: z.string() }));

let server: TestServer;
let routes: DescribedRoute[];
beforeAll(async () => {
  server = await startTestServer({
    apiKeys: [
      { owner: "ada", key: keys.ada },
      { owner: "ada", key: keys.adasOther },
      { owner: "bob", key: keys.bob },
      { owner: "admin", key: keys.admin },
    ],
    drainSeconds: 0.1,
  });
  ({ routes } = await describedRoutes(server));
});
afterAll(() => server.remove());

async function json(response: Response | Promise<Response>): Promise<unknown> {
  const { ok, status } = await response;
  const text = await (await response).text();
  if (!ok) throw new Error(`${status}: ${text}`);
  return JSON.parse(text);
}

/** Whether this program has the planner, whose routes have ids of their own. */
const hasPlanner = toolkits.some(({ name }) => name === "planner");

/** A task of Ada's with a day. */
async function adasTask(): Promise<Pick<Ids, "task_id" | "schedule_id">> {
  const { id: task_id } = Made.parse(await json(server.send("POST", "/api/tasks", { title: canary }, ada))).data;
  const { schedule_id } = Planned.parse(
    await json(server.send("POST", `/api/tasks/${task_id}/schedules`, { scheduled_date: "2026-03-02" }, ada)),
  ).data;
  return { task_id, schedule_id };
}

/** Whether this program has the memory toolkit. */
const hasMemory = toolkits.some(({ name }) => name === "memory");

/** A memory of Ada's. */
async function adasMemory(): Promise<Pick<Ids, "memory_id">> {
  const body = { kind: "fact", content: `${canary} ${crypto.randomUUID()}` };
  const { id: memory_id } = Made.parse(await json(server.send("POST", "/api/memory", body, ada))).data;
  return { memory_id };
}

/** A session of Ada's with an open question, a history, and a canary in every text field. */
async function adasThread(): Promise<Ids> {
  const { thread_id } = HasIds.parse(
    await json(server.send("POST", "/threads", { metadata: { note: canary, owner: "ada" } }, ada)),
  );
  const body = { assistant_id: "asker", input: { answer: canary }, metadata: { note: canary }, context: { canary } };
  await json(server.send("POST", `/threads/${thread_id}/runs/wait`, body, ada));
  const [run] = z.array(RunIds).parse(await json(server.send("GET", `/threads/${thread_id}/runs`, undefined, ada)));
  const state = State.parse(await json(server.send("GET", `/threads/${thread_id}/state`, undefined, ada)));
  const [asked] = Approvals.parse(await json(server.send("GET", `/threads/${thread_id}/approvals`, undefined, ada)));
  const { cron_id } = CronIds.parse(
    await json(server.send("POST", `/threads/${thread_id}/runs/crons`, { ...cron, metadata: { note: canary } }, ada)),
  );
  return {
    ...(hasPlanner ? await adasTask() : { task_id: "none", schedule_id: "none" }),
    ...(hasMemory ? await adasMemory() : { memory_id: "none" }),
    thread_id,
    cron_id,
    run_id: run?.run_id ?? "",
    checkpoint_id: state.checkpoint.checkpoint_id,
    interrupt_id: asked?.id ?? "",
    ...ofTheWorkflow(),
  };
}

/** Records that only the workflow makes. They are looked up within a thread, so that any id will do. */
const ofTheWorkflow = () => ({
  grant_id: crypto.randomUUID(),
  operation_id: crypto.randomUUID(),
  iteration_id: crypto.randomUUID(),
  message_id: crypto.randomUUID(),
  result_id: `${crypto.randomUUID()}-0`,
  suggestion_id: crypto.randomUUID(),
  span_id: crypto.randomUUID(),
  // Those of a run, which belongs to someone else.
  number: "987654321",
  // Those of two owners: tests/http/clients/openai-responses.test.ts.
  response_id: `resp_${crypto.randomUUID()}`,
});

function missingIds(): Ids {
  const id = (): string => crypto.randomUUID();
  return {
    thread_id: id(),
    cron_id: id(),
    run_id: id(),
    checkpoint_id: id(),
    interrupt_id: id().replaceAll("-", ""),
    task_id: id(),
    schedule_id: id(),
    memory_id: id().slice(0, 8),
    ...ofTheWorkflow(),
  };
}

/** Path parameters of records that all owners share. */
const shared = new Set(["assistant_id", "namespace", "name", "context", "agent", "basename", "engine", "model"]);
const ownedNames = (path: string): string[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name)).filter((name) => !shared.has(name));

/** Bodies that make a request valid; other routes are sent `{}`. */
const run = { assistant_id: "counter", input: { value: 1 } };
const cron = { ...run, schedule: "0 0 1 1 *" };
function bodyOf({ method, path }: DescribedRoute, ids: Ids): object | undefined {
  if (method === "GET") return undefined;
  const place = { thread_id: ids.thread_id, checkpoint_id: ids.checkpoint_id, checkpoint_ns: "" };
  if (/\/runs(\/(wait|stream))?$/.test(path)) return run;
  if (path.endsWith("/runs/crons")) return cron;
  if (path.endsWith("/state/checkpoint")) return { checkpoint: place };
  if (path.endsWith("/state"))
    return { values: { answer: "taken over" }, checkpoint: place, metadata: { taken: "over" } };
  if (path.endsWith("/hunks/undo")) return { hunks: [1] };
  if (path.endsWith("/operations/undo")) return { operation_ids: [ids.operation_id] };
  if (path.endsWith("/head")) return { checkpoint_id: ids.checkpoint_id };
  if (path.endsWith("/history")) return { checkpoint: place, before: ids.checkpoint_id };
  if (path.includes("/approvals/")) return { type: "answer", value: "taken over" };
  if (path.endsWith("/commands")) return { id: 1, method: "state.get" };
  if (path.endsWith("/stream/events")) return { channels: ["values", "lifecycle"] };
  if (path.endsWith("/schedules")) return { scheduled_date: "2026-04-02" };
  if (path === "/api/tasks/{task_id}") return { title: "taken over" };
  if (path === "/api/memory/{memory_id}") return { content: "taken over" };
  if (path.endsWith("/messages")) return { messages: [{ role: "user", content: "taken over" }] };
  return {};
}

interface Answer {
  status: number;
  text: string;
  headers: string;
}

/** Sends a request and returns the whole answer, with the ids that were sent replaced by their names. */
async function ask(route: DescribedRoute, ids: Ids, body: object | undefined, headers: object): Promise<Answer> {
  const unknown: string[] = [];
  const path = route.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const id = Object.entries(ids).find(([known]) => known === name)?.[1];
    if (id === undefined && !shared.has(name)) unknown.push(name);
    return id ?? "list_files";
  });
  if (unknown.length > 0) throw new Error(`${route.path}: what is a foreign ${unknown.join(", ")}? Add it to Ids.`);
  const search = path.endsWith("/search") ? `?query=${canary}` : "";
  const response = await server.send(route.method, path + search, body, { ...headers });
  const hidden = (text: string): string =>
    Object.entries(ids)
      .reduce((now, [name, id]) => now.replaceAll(id, `<${name}>`), text)
      .replace(/"applied_through_seq":\d+/u, "");
  const ofRequest = ["x-request-id", "date"];
  const answerHeaders = [...response.headers].filter(([name]) => !ofRequest.includes(name));
  // A thread's own stream stays open.
  const isEndless = /\/stream(\/events)?$/u.test(route.path) && !route.path.includes("run") && response.status === 200;
  if (isEndless) await response.body?.cancel();
  return {
    status: response.status,
    text: isEndless ? "" : hidden(await response.text()),
    headers: hidden(JSON.stringify(answerHeaders)),
  };
}

/** Everything that Ada sees of her records. */
async function adasView(ids: Ids): Promise<string> {
  const paths = ["", "/state", "/history?limit=100", "/runs", "/approvals", "/grants", "/status", "/info", "/messages"];
  const seen = [];
  for (const path of paths)
    seen.push(await json(server.send("GET", `/threads/${ids.thread_id}${path}`, undefined, ada)));
  seen.push(await json(server.send("POST", "/runs/crons/search", { thread_id: ids.thread_id }, ada)));
  if (hasPlanner) seen.push(await json(server.send("GET", `/api/tasks/${ids.task_id}`, undefined, ada)));
  if (hasMemory) seen.push(await json(server.send("GET", `/api/memory/${ids.memory_id}`, undefined, ada)));
  return JSON.stringify(seen);
}

const isOfProtocol = ({ path }: DescribedRoute): boolean => /\/(commands|stream\/events)$/u.test(path);
const isOfThings = ({ path }: DescribedRoute): boolean => ownedNames(path).length > 0;

describe("every route with the id of an owner's record", () => {
  it("answers for another owner's id as for an unknown one, and changes nothing", async () => {
    const foreign = await adasThread();
    const before = await adasView(foreign);
    const different: object[] = [];
    let asked = 0;
    for (const route of routes.filter(isOfThings)) {
      const missing = missingIds();
      const answer = await ask(route, foreign, bodyOf(route, foreign), bob);
      const expected = await ask(route, missing, bodyOf(route, missing), bob);
      asked += 1;
      if (JSON.stringify(answer) !== JSON.stringify(expected)) different.push({ route, answer, expected });
      // The protocol accepts threads that do not exist yet, and refuses within an answer.
      const isMissing = answer.status === 404 || isOfProtocol(route);
      if (!isMissing || JSON.stringify(answer).includes(canary)) different.push({ route, answer });
    }
    expect(asked).toBeGreaterThan(25);
    expect(different).toEqual([]);
    expect(await adasView(foreign)).toBe(before);
  });

  it("answers for another owner's run or checkpoint in one's own thread as for an unknown one", async () => {
    const foreign = await adasThread();
    const own = HasIds.parse(await json(server.send("POST", "/threads", {}, bob))).thread_id;
    await json(server.send("POST", `/threads/${own}/runs/wait`, run, bob));
    const before = await adasView(foreign);
    const different: object[] = [];
    const inner = routes.filter(({ path }) => path.includes("{thread_id}") && ownedNames(path).length > 1);
    for (const route of inner) {
      const missing = { ...missingIds(), thread_id: own };
      const mixed = { ...foreign, thread_id: own };
      const answer = await ask(route, mixed, bodyOf(route, mixed), bob);
      const expected = await ask(route, missing, bodyOf(route, missing), bob);
      if (JSON.stringify(answer) !== JSON.stringify(expected)) different.push({ route, answer, expected });
      if (JSON.stringify(answer).includes(canary)) different.push({ route, answer });
    }
    expect(inner.length).toBeGreaterThan(7);
    expect(different).toEqual([]);
    expect(await adasView(foreign)).toBe(before);
  });

  it("accepts each of an owner's keys", async () => {
    const own = await adasThread();
    const closed: object[] = [];
    const made = new Set(Object.keys(ofTheWorkflow()));
    const readable = routes.filter(
      (one) =>
        isOfThings(one) &&
        !isOfProtocol(one) &&
        one.method === "GET" &&
        !ownedNames(one.path).some((name) => made.has(name)),
    );
    for (const key of [keys.ada, keys.adasOther]) {
      for (const route of readable) {
        const answer = await ask(route, own, undefined, headersOf(key));
        if (answer.status !== 200) closed.push({ route, answer });
      }
    }
    expect(closed).toEqual([]);
  });
});

describe("another owner's id in a body", () => {
  it("never lets a run into that thread", async () => {
    const foreign = await adasThread();
    const own = HasIds.parse(await json(server.send("POST", "/threads", {}, bob))).thread_id;
    const before = await adasView(foreign);
    const { thread_id, checkpoint_id } = foreign;
    const place = { thread_id, checkpoint_id, checkpoint_ns: "" };
    const bodies = [
      { ...run, config: { configurable: { thread_id } } },
      { ...run, config: { configurable: place } },
      { ...run, checkpoint: place },
      { ...run, checkpoint_id },
      { assistant_id: "asker", command: { resume: { [foreign.interrupt_id]: "taken over" } }, checkpoint: place },
      { assistant_id: "mirror", input: {}, metadata: { thread_id }, config: { configurable: { thread_id } } },
    ];
    for (const body of bodies) {
      for (const path of [`/threads/${own}/runs/wait`, "/runs/wait"]) {
        const response = await server.send("POST", path, body, bob);
        expect(await response.text(), JSON.stringify(body)).not.toContain(canary);
      }
    }
    const states = await server.send("GET", `/threads/${own}/history?limit=100`, undefined, bob);
    expect(await states.text()).not.toContain(canary);
    expect(await adasView(foreign)).toBe(before);
  });

  it("finds no state and no history", async () => {
    const foreign = await adasThread();
    const own = HasIds.parse(await json(server.send("POST", "/threads", {}, bob))).thread_id;
    await json(server.send("POST", `/threads/${own}/runs/wait`, run, bob));
    const { thread_id, checkpoint_id } = foreign;
    const checkpoint = { thread_id, checkpoint_id, checkpoint_ns: "", checkpoint_map: { "": checkpoint_id } };
    for (const [path, body] of [
      ["state/checkpoint", { checkpoint }],
      ["state", { values: { value: 3 }, checkpoint }],
      ["history", { checkpoint, before: { configurable: checkpoint } }],
    ] as const) {
      const response = await server.send("POST", `/threads/${own}/${path}`, body, bob);
      const text = await response.text();
      expect(response.status, `${path}: ${text}`).toBeLessThan(500);
      expect(text).not.toContain(canary);
    }
  });

  it("cannot be used for a new thread, by any route, and no answer says what exists", async () => {
    const { thread_id } = await adasThread();
    const answers = [];
    for (const if_exists of ["raise", "do_nothing"]) {
      answers.push(await server.send("POST", "/threads", { thread_id, if_exists }, bob));
    }
    const created = { ...run, if_not_exists: "create" };
    for (const kind of ["", "/wait", "/stream"]) {
      answers.push(await server.send("POST", `/threads/${thread_id}/runs${kind}`, created, bob));
    }
    for (const answer of answers) {
      expect([answer.status, await answer.text()]).toEqual([404, `Thread with ID ${thread_id} not found`]);
    }
    expect((await server.send("POST", "/threads", { thread_id }, ada)).status).toBe(409);
  });
});

describe("a request over many threads", () => {
  it("returns only the owner's threads: search, count, pages and prune", async () => {
    const foreign = await adasThread();
    const ids = [foreign.thread_id];
    for (const filter of [{}, { ids }, { metadata: { note: canary } }, { status: "interrupted" }]) {
      const found = await server.send("POST", "/threads/search", { ...filter, limit: 1000 }, bob);
      expect(await found.text()).not.toContain(foreign.thread_id);
      const total = Number(found.headers.get("x-pagination-total"));
      expect(await json(server.send("POST", "/threads/count", filter, bob))).toBe(total);
    }
    expect(await json(server.send("POST", "/threads/count", { metadata: { note: canary } }, bob))).toBe(0);
    for (const strategy of ["delete", "keep_latest"]) {
      const pruned = await json(server.send("POST", "/threads/prune", { thread_ids: ids, strategy }, bob));
      expect(pruned).toEqual({ pruned_count: 0 });
    }
    const found = z.array(HasIds).parse(await json(server.send("POST", "/threads/search", { ids }, ada)));
    expect(found.map(({ thread_id }) => thread_id)).toEqual(ids);
  });

  it("never returns the owner of a thread", async () => {
    const { thread_id } = HasIds.parse(await json(server.send("POST", "/threads", {}, ada)));
    expect(await json(server.send("GET", `/threads/${thread_id}`, undefined, ada))).not.toHaveProperty("owner");
  });
});

describe("runs without a thread", () => {
  it("belong to the owner who started them, while they run and afterwards", async () => {
    const gate = crypto.randomUUID();
    const body = { assistant_id: "gated", input: { gate }, on_completion: "keep", metadata: { note: canary } };
    const started = RunIds.parse(await json(server.send("POST", "/runs", body, ada)));
    const path = `/runs/${started.run_id}/stream`;
    const missing = await server.send("GET", `/runs/${crypto.randomUUID()}/stream`, undefined, bob);
    const expected = [missing.status, await missing.text()];
    const working = await server.send("GET", path, undefined, bob);
    expect([working.status, await working.text()]).toEqual(expected);
    openGate(gate);
    expect(await (await server.send("GET", path, undefined, ada)).text()).toContain('"passed":true');
    const over = await server.send("GET", path, undefined, bob);
    expect([over.status, await over.text()]).toEqual(expected);
    expect((await server.send("GET", `/threads/${started.thread_id}`, undefined, bob)).status).toBe(404);
  });

  it("of two owners with the same Idempotency-Key are two runs", async () => {
    const body = { assistant_id: "counter", input: { value: 1 }, on_completion: "keep" };
    const start = async (headers: object): Promise<string> =>
      RunIds.parse(await json(server.send("POST", "/runs", body, { ...headers, "idempotency-key": "same" }))).run_id;
    const [first, again, other] = [await start(ada), await start(headersOf(keys.adasOther)), await start(bob)];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });
});

describe("threads from before keys were set", () => {
  it("are visible to the owner admin and to no other; without keys all threads are visible", async () => {
    const open = await startTestServer();
    const { thread_id: old } = await open.client.threads.create({ metadata: { note: "old" } });
    await open.close();
    const apiKeys = server.config.apiKeys;
    const keyed = await open.restart({ apiKeys });
    const seenBy = async (key: string): Promise<number> =>
      (await keyed.send("GET", `/threads/${old}`, undefined, headersOf(key))).status;
    expect([await seenBy(keys.ada), await seenBy(keys.bob), await seenBy(keys.admin)]).toEqual([404, 404, 200]);
    const made = HasIds.parse(await json(keyed.send("POST", "/threads", {}, ada))).thread_id;
    const count = (key: string) => json(keyed.send("POST", "/threads/count", {}, headersOf(key)));
    expect([await count(keys.ada), await count(keys.bob), await count(keys.admin)]).toEqual([1, 0, 1]);
    expect((await keyed.send("GET", `/threads/${made}`, undefined, headersOf(keys.admin))).status).toBe(404);
    await keyed.close();
    const again = await open.restart();
    expect(await again.client.threads.count()).toBe(2);
    await again.remove();
  });
});
