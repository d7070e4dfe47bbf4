import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Config } from "@millrace/engine/config/config";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const fixtures = join(import.meta.dirname, "..", "..", "fixtures", "graphs");
let folder: string;
const servers: TestServer[] = [];
let server: TestServer;

/** A module of auth rules; each has its own name, because a process loads a module once. */
async function rulesOf(text: string): Promise<string> {
  const path = join(folder, `${crypto.randomUUID()}.mjs`);
  await writeFile(
    path,
    `import { Auth, isStudioUser } from "@langchain/langgraph-sdk/auth";\nexport const auth = ${text};`,
  );
  return `${path}:auth`;
}

const ofFixtures = (): object => ({ path: join(fixtures, "auth.ts:auth") });

async function serve(auth: object, changes: Partial<Config> = {}, manifest: object = {}): Promise<TestServer> {
  const path = join(folder, `${crypto.randomUUID()}.json`);
  const mirror = join(import.meta.dirname, "..", "..", "support", "test-graphs.ts:mirror");
  const graphs = { asking: join(fixtures, "asking.ts:graph"), slow: join(fixtures, "slow.ts:graph"), mirror };
  await writeFile(path, JSON.stringify({ graphs, auth, ...manifest }));
  const started = await startTestServer({ graphs: path, drainSeconds: 0.1, ...changes });
  servers.push(started);
  return started;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-auth-"));
  server = await serve({ path: join(fixtures, "auth.ts:auth") });
  [adas, bobs] = [as("ada"), as("bob")];
});
afterAll(async () => {
  for (const one of servers) await one.remove();
  await rm(folder, { recursive: true, force: true });
});

function as(name: string): Client {
  const defaultHeaders = { authorization: `Bearer token-of-${name}` };
  return new Client({ apiUrl: server.url, defaultHeaders, callerOptions: { maxRetries: 0 } });
}

let adas: Client;
let bobs: Client;

describe("authentication", () => {
  it("calls the user's own code, which refuses with its status, text and headers", async () => {
    const answer = await fetch(`${server.url}/threads`, { method: "POST", body: "{}" });
    expect([answer.status, await answer.text()]).toEqual([401, "Who are you?"]);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    const again = await fetch(`${server.url}/threads/search`, { method: "POST", body: "{}" });
    expect([again.status, await again.text()]).toEqual([401, "Who are you?"]);
  });

  it.each(["/ok", "/info", "/openapi.json"])("is not needed at %s", async (path) => {
    expect((await fetch(`${server.url}${path}`)).status).toBe(200);
  });

  it("sends CORS headers to allowed browsers, also when it refuses", async () => {
    const origin = "https://smith.langchain.com";
    const preflight = await fetch(`${server.url}/threads`, { method: "OPTIONS", headers: { origin } });
    expect(preflight.status).toBe(204);
    const refused = await fetch(`${server.url}/threads`, { method: "POST", headers: { origin } });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([401, origin]);
  });

  it("passes the user to the graph, whatever the client sends", async () => {
    const config = { configurable: { langgraph_auth_user_id: "admin", own: 1 } };
    const { seen } = (await adas.runs.wait(null, "mirror", { input: {}, config })) as {
      seen: { configurable: Record<string, unknown> };
    };
    expect(seen.configurable).toMatchObject({
      own: 1,
      langgraph_auth_user_id: "ada",
      langgraph_auth_user: { identity: "ada", display_name: "ada", team: "blue", is_authenticated: true },
      langgraph_auth_permissions: ["write"],
    });
  });
});

describe("authorization", () => {
  it("calls the most specific handler", async () => {
    const { thread_id } = await adas.threads.create({ metadata: { note: 1 } });
    expect((await adas.threads.get(thread_id)).metadata).toEqual({ note: 1, owner: "ada", readers: ["ada"] });
    await expect(as("eve").threads.create()).rejects.toThrow("HTTP 402: Pay first");
    // Eve's permissions come from `*`, which is less specific than `threads`: she may read, and sees nothing.
    await expect(as("eve").threads.get(thread_id)).rejects.toThrow("HTTP 404");
  });

  it("hides a thread from others on every route", async () => {
    const { thread_id } = await adas.threads.create();
    await adas.runs.wait(thread_id, "asking", { input: {} });
    const [run] = await adas.runs.list(thread_id);
    const id = run?.run_id ?? "";
    const attempts: (() => Promise<unknown>)[] = [
      () => bobs.threads.get(thread_id),
      () => bobs.threads.update(thread_id, { metadata: { stolen: true } }),
      () => bobs.threads.delete(thread_id),
      () => bobs.threads.getState(thread_id),
      () => bobs.threads.getHistory(thread_id),
      () => bobs.threads.updateState(thread_id, { values: { name: "Bob" } }),
      () => bobs.threads.copy(thread_id),
      () => bobs.runs.list(thread_id),
      () => bobs.runs.get(thread_id, id),
      () => bobs.runs.join(thread_id, id),
      () => bobs.runs.cancel(thread_id, id),
      () => bobs.runs.delete(thread_id, id),
      () => bobs.runs.create(thread_id, "asking", { command: { resume: "Bob" } }),
      () => bobs.runs.wait(thread_id, "asking", { command: { resume: "Bob" } }),
    ];
    for (const attempt of attempts) await expect(attempt(), attempt.toString()).rejects.toThrow(/HTTP 40[49]/u);
    expect((await adas.threads.getState(thread_id)).next).toEqual(["ask_name"]);
    const answered = await adas.runs.wait(thread_id, "asking", { command: { resume: "Ada" } });
    expect(answered).toMatchObject({ name: "Ada" });
  });

  it("applies to every search, and to its count", async () => {
    const { thread_id } = await bobs.threads.create({ metadata: { topic: "search" } });
    await adas.threads.create({ metadata: { topic: "search" } });
    const metadata = { topic: "search" };
    expect((await bobs.threads.search({ metadata })).map((thread) => thread.thread_id)).toEqual([thread_id]);
    expect(await bobs.threads.count({ metadata })).toBe(1);
    expect(await bobs.threads.search({ metadata: { readers: ["ada"] } })).toEqual([]);
    expect(await bobs.threads.search({ metadata: { owner: "ada" } })).toEqual([]);
  });

  it("applies to new runs, and writes their metadata", async () => {
    const { thread_id } = await adas.threads.create();
    const run = await adas.runs.create(thread_id, "slow", { input: {}, metadata: { note: 1 } });
    expect(run.metadata).toMatchObject({ note: 1, owner: "ada" });
    await adas.runs.cancel(thread_id, run.run_id, true);
    expect((await adas.runs.get(thread_id, run.run_id)).status).toBe("interrupted");
    await adas.runs.delete(thread_id, run.run_id);
    await adas.threads.delete(thread_id);
    await expect(adas.threads.get(thread_id)).rejects.toThrow("HTTP 404");
  });

  it("makes no user an administrator of what all users share", async () => {
    const user = { authorization: "Bearer token-of-ada" };
    const answer = await server.send("POST", "/prompts/reload", undefined, user);
    expect([answer.status, await answer.text()]).toEqual([403, expect.stringContaining("belongs to all owners")]);
  });
});

describe("assistants", () => {
  it("belong to users by the rules: others neither see, change nor run them", async () => {
    const mine = await adas.assistants.create({ graphId: "asking", name: "Ada's", config: { configurable: { a: 1 } } });
    expect(mine.metadata).toMatchObject({ owner: "ada" });
    const id = mine.assistant_id;
    const { thread_id } = await bobs.threads.create();
    const attempts: (() => Promise<unknown>)[] = [
      () => bobs.assistants.get(id),
      () => bobs.assistants.update(id, { name: "Bob's" }),
      () => bobs.assistants.delete(id),
      () => bobs.assistants.getGraph(id),
      () => bobs.assistants.getSchemas(id),
      () => bobs.assistants.getVersions(id),
      () => bobs.assistants.setLatest(id, 1),
      () => bobs.runs.create(thread_id, id, { input: {} }),
      () => bobs.crons.create(id, { schedule: "0 0 1 1 *", input: {} }),
    ];
    for (const attempt of attempts) await expect(attempt(), attempt.toString()).rejects.toThrow("HTTP 404");
    expect((await bobs.assistants.search()).filter(({ assistant_id }) => assistant_id === id)).toEqual([]);
    expect((await adas.assistants.search()).map(({ assistant_id }) => assistant_id)).toEqual([id]);
    expect(await adas.assistants.update(id, { name: "Ada's own" })).toMatchObject({ version: 2, name: "Ada's own" });
    const { thread_id: own } = await adas.threads.create();
    expect(await adas.runs.wait(own, id, { input: {} })).toMatchObject({ __interrupt__: [{}] });
    await adas.assistants.delete(id);
  });

  it("are refused to users who may not manage them, while graphs can still be run", async () => {
    await expect(as("eve").assistants.search()).rejects.toThrow("HTTP 403");
    await expect(as("eve").assistants.create({ graphId: "asking" })).rejects.toThrow("HTTP 403");
    const own = await serve({
      path: await rulesOf(`new Auth().authenticate(() => "a").on("assistants", () => false)`),
    });
    expect((await own.send("POST", "/assistants/search", {})).status).toBe(403);
    expect((await own.send("GET", "/assistants/mirror")).status).toBe(403);
    expect((await own.send("POST", "/runs/wait", { assistant_id: "mirror", input: {} })).status).toBe(200);
  });
});

describe("the store", () => {
  it("has a namespace for each user, which the rules put before the requested one", async () => {
    await adas.store.putItem(["notes"], "one", { text: "of Ada" });
    await bobs.store.putItem(["notes"], "one", { text: "of Bob" });
    expect(await adas.store.getItem(["notes"], "one")).toMatchObject({
      namespace: ["ada", "notes"],
      value: { text: "of Ada" },
    });
    expect(await bobs.store.searchItems([])).toMatchObject({ items: [{ value: { text: "of Bob" } }] });
    expect(await adas.store.listNamespaces({})).toEqual({ namespaces: [["ada", "notes"]] });
    await bobs.store.deleteItem(["notes"], "one");
    expect(await bobs.store.getItem(["notes"], "one")).toBeNull();
    expect(await adas.store.getItem(["notes"], "one")).not.toBeNull();
  });

  it("is shared where the rules allow it", async () => {
    await adas.store.putItem(["everybody"], "news", { text: "for all" });
    expect(await bobs.store.getItem(["everybody"], "news")).toMatchObject({ value: { text: "for all" } });
  });

  it("returns pages of the items that a filter leaves", async () => {
    const own = await serve({
      path: await rulesOf(`new Auth().authenticate((request) => request.headers.get("x-user") ?? "a")
        .on("store:search", ({ user }) => ({ of: user.identity }))
        .on("store:put", ({ value, user }) => ({ of: user.identity }))`),
    });
    const put = (key: string, of: string): Promise<Response> =>
      own.send("PUT", "/store/items", { namespace: ["n"], key, value: { of } }, { "x-user": of });
    for (let at = 0; at < 6; at += 1) expect((await put(`k${at}`, at % 2 === 0 ? "a" : "b")).status).toBe(204);
    const refused = await own.send("PUT", "/store/items", { namespace: ["n"], key: "x", value: { of: "b" } });
    expect([refused.status, await refused.text()]).toEqual([403, "Forbidden"]);
    const page = async (offset: number): Promise<unknown> =>
      (await own.send("POST", "/store/items/search", { namespace_prefix: ["n"], limit: 2, offset })).json();
    const keys = [
      ...((await page(0)) as { items: { key: string }[] }).items,
      ...((await page(2)) as { items: { key: string }[] }).items,
    ];
    expect(keys.map(({ key }) => key).toSorted()).toEqual(["k0", "k2", "k4"]);
  });
});

describe("crons", () => {
  it("belong to users by the rules", async () => {
    const cron = await adas.crons.create("asking", { schedule: "0 0 1 1 *", input: {} });
    const { cron_id } = cron as unknown as { cron_id: string };
    expect(await adas.crons.search()).toMatchObject([{ cron_id, metadata: { owner: "ada" } }]);
    expect(await bobs.crons.search()).toEqual([]);
    await expect(bobs.crons.delete(cron_id)).rejects.toThrow("HTTP 404");
    await expect(bobs.crons.update(cron_id, { schedule: "* * * * *" })).rejects.toThrow("HTTP 404");
    await expect(as("eve").crons.search()).rejects.toThrow("HTTP 403");
    await adas.crons.delete(cron_id);
    expect(await adas.crons.search()).toEqual([]);
  });
});

describe("the runs of a cron", () => {
  it("get the identity of the cron's creator, whatever its configuration says", async () => {
    const config = { configurable: { own: 1, langgraph_auth_user_id: "admin" } };
    const made = await adas.crons.create("asking", { schedule: "0 0 1 1 *", input: {}, config });
    const { cron_id } = made as unknown as { cron_id: string };
    expect(await adas.crons.search()).toMatchObject([
      { cron_id, payload: { config: { configurable: { own: 1, langgraph_auth_user_id: "ada" } } } },
    ]);
    await adas.crons.delete(cron_id);
  });
});

describe("a server that other machines can reach", () => {
  it("needs authentication: keys, or rules", async () => {
    const message = expect.stringMatching(/HOST is 0\.0\.0\.0.*MILLRACE_API_KEYS is empty/u);
    await expect(serve({}, { host: "0.0.0.0" })).rejects.toMatchObject({ code: "config", message });
    const apiKeys = [{ owner: "ada", key: "key-of-ada" }];
    for (const one of [await serve({}, { host: "0.0.0.0", apiKeys }), await serve(ofFixtures(), { host: "0.0.0.0" })]) {
      const url = one.url.replace("0.0.0.0", "127.0.0.1");
      expect((await fetch(`${url}/threads`, { method: "POST", body: "{}" })).status).toBe(401);
    }
  });

  it("does not accept Studio's header, which any client could send", async () => {
    const own = await serve(ofFixtures(), { host: "0.0.0.0" });
    const url = own.url.replace("0.0.0.0", "127.0.0.1");
    const answer = await fetch(`${url}/threads`, {
      method: "POST",
      body: "{}",
      headers: { "x-auth-scheme": "langsmith" },
    });
    expect(answer.status).toBe(401);
  });
});

describe("routes of http.app", () => {
  it("pass the rules too, and get the user", async () => {
    const http = { app: join(fixtures, "http-app.ts:app") };
    const own = await serve(ofFixtures(), {}, { http });
    expect((await own.send("GET", "/custom/me")).status).toBe(401);
    const mine = await own.send("GET", "/custom/me", undefined, { authorization: "Bearer token-of-ada" });
    expect(await mine.json()).toMatchObject({ user: { identity: "ada", team: "blue" }, scopes: ["write"] });
  });
});

describe("Studio", () => {
  const studio = { "x-auth-scheme": "langsmith" };
  const rules = `new Auth().authenticate(() => "somebody").on("threads", ({ user }) => isStudioUser(user) || false)`;

  it("is a user of its own on this machine, which handlers can recognise", async () => {
    const own = await serve({ path: await rulesOf(rules) });
    expect((await own.send("POST", "/threads", {}, studio)).status).toBe(200);
    const other = await own.send("POST", "/threads", {});
    expect([other.status, await other.text()]).toEqual([403, "Forbidden"]);
  });

  it("is not authenticated where it is disabled", async () => {
    const own = await serve({ path: await rulesOf(rules), disable_studio_auth: true });
    expect((await own.send("POST", "/threads", {}, studio)).status).toBe(403);
  });
});

describe("invalid rules", () => {
  it.each([
    ["are missing", "./none.mjs:auth", /There is no file/u],
    ["are no Auth", join(fixtures, "asking.ts:graph"), /is no Auth/u],
  ])("keep the server from starting when they %s", async (_name, path, message) => {
    await expect(serve({ path })).rejects.toMatchObject({ code: "config", message: expect.stringMatching(message) });
  });

  it("refuse every request when a handler returns an invalid filter", async () => {
    const rules = `new Auth().authenticate(() => "a").on("threads", () => ({ owner: { $regex: ".*" } }))`;
    const own = await serve({ path: await rulesOf(rules) });
    expect((await own.send("POST", "/threads", {})).status).toBe(500);
    expect((await own.send("POST", "/threads/search", {})).status).toBe(500);
  });

  it("that show a thread to users do not let them stop, delete or lose its runs", async () => {
    const rules = await rulesOf(`new Auth()
      .authenticate((request) => request.headers.get("x-user"))
      .on("threads:delete", ({ user }) => ({ owner: user.identity }))
      .on("threads:update", ({ user }) => (user.identity === "guest" ? false : undefined))
      .on("threads:create", ({ value, user }) => void (value.metadata.owner = user.identity))`);
    const { url } = await serve({ path: rules });
    const by = (name: string) =>
      new Client({ apiUrl: url, defaultHeaders: { "x-user": name }, callerOptions: { maxRetries: 0 } });
    const { assistant_id } = await by("ada").assistants.create({ graphId: "asking" });
    const { thread_id } = await by("ada").threads.create();
    await by("ada").runs.wait(thread_id, assistant_id, { input: {} });
    await expect(by("bob").threads.delete(thread_id)).rejects.toThrow("404");
    const path = `${url}/assistants/${assistant_id}?delete_threads=true`;
    expect((await fetch(path, { method: "DELETE", headers: { "x-user": "bob" } })).status).toBe(200);
    expect((await by("ada").threads.get(thread_id)).status).toBe("interrupted");
    const { thread_id: guests } = await by("guest").threads.create();
    const config = { configurable: { own: 1 } };
    expect(await by("guest").runs.wait(guests, "mirror", { input: {}, config })).toHaveProperty("seen");
  });

  it("refuse every request when they return no user", async () => {
    const own = await serve({ path: await rulesOf("new Auth().authenticate(() => undefined)") });
    expect((await own.send("POST", "/threads", {})).status).toBe(500);
  });
});
