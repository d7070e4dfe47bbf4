import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { agentFiles, hands, scriptsOf } from "../../agents/agent-flow.ts";
import { startModelServer } from "@millrace/testing/model-server";
import { openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { projectFolder } from "../../support/source-files.ts";
import { openStorageOf, type TestServer } from "../../support/test-server.ts";

/** Threads belong to the users in `readers`; the rules write other fields to runs than to crons. */
const rules = `
  .authenticate(({ headers }) => ({ identity: headers.get("x-user"), team: "blue" }))
  .on("threads:create", ({ value, user }) => {
    if (user.identity === "guest") return false;
    value.metadata = { ...value.metadata, readers: [user.identity], team: user.team };
  })
  .on("threads:create_run", ({ value, user }) => {
    if (user.identity === "reader") return false;
    value.metadata = { ...value.metadata, started_by: user.identity };
    return { readers: { $contains: user.identity } };
  })
  .on("threads", ({ user }) => ({ readers: { $contains: user.identity } }))
  .on("crons:create", ({ value, user }) => void (value.metadata = { ...value.metadata, maker: user.identity }))`;

const graphs = { caller: join(import.meta.dirname, "..", "..", "fixtures", "graphs", "caller.ts:graph") };
const yearly = "0 0 1 1 *";

let servers: RulesServers;
beforeAll(async () => {
  servers = await openRulesServers();
});
afterAll(() => servers.remove());

const Thread = z.looseObject({ thread_id: z.string(), metadata: z.record(z.string(), z.unknown()) });
const Cron = z.looseObject({ cron_id: z.string(), payload: z.record(z.string(), z.unknown()) });
const Run = z.looseObject({ status: z.string(), metadata: z.record(z.string(), z.unknown()) });

async function by(server: TestServer, user: string, method: string, path: string, body?: object) {
  const answer = await server.send(method, path, body, { "x-user": user });
  const text = await answer.text();
  return { status: answer.status, text, json: (): unknown => JSON.parse(text) };
}

/** Sets the cron's date to the past. */
async function untilDue(server: TestServer, cronId: string): Promise<TestServer> {
  await server.close();
  const storage = await openStorageOf(server.config);
  await storage.crons.update(cronId, { next_run_date: "2026-01-01T00:00:00.000Z" });
  await storage.close();
  return await server.restart();
}

describe("a thread that a cron creates", () => {
  it("belongs to the cron's creator by the rules, and to no other; its runs get the rules' metadata too", async () => {
    const first = await servers.serve(rules, {}, { graphs });
    const body = { assistant_id: "caller", schedule: yearly, input: {}, on_run_completed: "keep" };
    const { cron_id } = Cron.parse((await by(first, "ada", "POST", "/runs/crons", body)).json());
    const server = await untilDue(first, cron_id);
    const found = async (user: string) =>
      z.array(Thread).parse((await by(server, user, "POST", "/threads/search", { metadata: { cron_id } })).json());
    await expect.poll(() => found("ada"), { timeout: 30_000 }).toHaveLength(1);
    const [thread] = await found("ada");
    expect(thread?.metadata).toMatchObject({ cron_id, readers: ["ada"], team: "blue" });
    const path = `/threads/${thread?.thread_id}`;
    expect((await by(server, "ada", "GET", path)).status).toBe(200);
    const runs = async () => z.array(Run).parse((await by(server, "ada", "GET", `${path}/runs`)).json());
    await expect.poll(runs, { timeout: 30_000 }).toHaveLength(1);
    expect((await runs())[0]?.metadata).toMatchObject({ cron_id, maker: "ada", started_by: "ada", readers: ["ada"] });
    expect(await found("bob")).toEqual([]);
    expect((await by(server, "bob", "GET", path)).status).toBe(404);
    await server.close();
  });

  it("is checked when the cron is created: a user without the right to threads or runs gets no cron", async () => {
    const server = await servers.serve(rules, {}, { graphs });
    const body = { assistant_id: "caller", schedule: yearly, input: {} };
    expect(await by(server, "guest", "POST", "/runs/crons", body)).toMatchObject({ status: 403, text: "Forbidden" });
    expect(await by(server, "reader", "POST", "/runs/crons", body)).toMatchObject({ status: 403, text: "Forbidden" });
    const thread = Thread.parse((await by(server, "reader", "POST", "/threads", {})).json());
    const path = `/threads/${thread.thread_id}/runs/crons`;
    expect(await by(server, "reader", "POST", path, body)).toMatchObject({ status: 403 });
    expect((await by(server, "ada", "POST", "/runs/crons/search", {})).json()).toEqual([]);
  });
});

describe("a cron that is updated", () => {
  it("keeps the fields that are not given, and belongs to the user who last set its payload", async () => {
    const server = await servers.serve(rules, {}, { graphs });
    const config = { configurable: { own: 1 } };
    const body = { assistant_id: "caller", schedule: yearly, input: {}, config };
    const { cron_id } = Cron.parse((await by(server, "ada", "POST", "/runs/crons", body)).json());
    const change = async (user: string, fields: object) =>
      Cron.parse((await by(server, user, "PATCH", `/runs/crons/${cron_id}`, fields)).json()).payload;
    const ofAda = { own: 1, langgraph_auth_user_id: "ada" };
    const later = { schedule: "0 0 2 1 *", metadata: {} };
    expect(await change("bob", later)).toMatchObject({ config: { configurable: ofAda } });
    const ofBob = { own: 1, langgraph_auth_user_id: "bob" };
    expect(await change("bob", { input: { answer: "x" } })).toMatchObject({
      input: { answer: "x" },
      config: { configurable: ofBob },
    });
    expect((await by(server, "guest", "PATCH", `/runs/crons/${cron_id}`, { input: {} })).status).toBe(403);
    expect(await change("bob", { schedule: yearly })).toMatchObject({ config: { configurable: ofBob } });
  });
});

describe("the metadata of a cron's runs", () => {
  const marking = `
    .authenticate(({ headers }) => ({ identity: headers.get("x-user") }))
    .on("threads:create_run", ({ value, user }) => {
      if (value.metadata.priority === "high") return false;
      Object.assign(value.metadata, { owner: user.identity });
    })`;

  it("is checked together with that of the cron, and what the rules write takes precedence", async () => {
    const first = await servers.serve(marking, {}, { graphs });
    const body = { assistant_id: "caller", schedule: yearly, input: {}, on_run_completed: "keep" };
    const make = (metadata: object) => by(first, "ada", "POST", "/runs/crons", { ...body, metadata });
    expect((await make({ priority: "high" })).status).toBe(403);
    const { cron_id } = Cron.parse((await make({ owner: "bob", priority: "low" })).json());
    const change = (metadata: object) => by(first, "ada", "PATCH", `/runs/crons/${cron_id}`, { metadata });
    expect((await change({ priority: "high" })).status).toBe(403);
    expect((await change({ owner: "carl", note: 1 })).status).toBe(200);
    const server = await untilDue(first, cron_id);
    const found = async () =>
      z.array(Thread).parse((await by(server, "ada", "POST", "/threads/search", { metadata: { cron_id } })).json());
    await expect.poll(found, { timeout: 30_000 }).toHaveLength(1);
    const path = `/threads/${(await found())[0]?.thread_id}/runs`;
    const runs = async () => z.array(Run).parse((await by(server, "ada", "GET", path)).json());
    await expect.poll(runs, { timeout: 30_000 }).toHaveLength(1);
    expect((await runs())[0]?.metadata).toMatchObject({ cron_id, owner: "ada", priority: "low", note: 1 });
    await server.close();
  });
});

describe("the tools of a cron's runs", () => {
  it("are those of the user who last set its payload (TOOL-13)", async () => {
    const model = await startModelServer({ script: [{ text: "Done." }] });
    try {
      const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
      const agent = { agent: join(projectFolder, "src/graph/workflow.ts:workflow") };
      const config = { openai, model: "openai:scripted", ownerTools: { bob: ["list_files"] } };
      const first = await servers.serve(rules, config, { graphs: agent });
      const asking = (text: string) => ({ input: { messages: [{ role: "user", content: text }] } });
      const body = { assistant_id: "agent", schedule: yearly, context: { mode: "free_work" }, ...asking("Work") };
      const { cron_id } = Cron.parse((await by(first, "ada", "POST", "/runs/crons", body)).json());
      expect((await by(first, "bob", "PATCH", `/runs/crons/${cron_id}`, asking("Work for me"))).status).toBe(200);
      const server = await untilDue(first, cron_id);
      await expect.poll(() => model.requests.length, { timeout: 30_000 }).toBe(1);
      expect(model.requests[0]?.toolNames).toContain("list_files");
      expect(model.requests[0]?.toolNames).not.toContain("create_file");
      await server.close();
    } finally {
      await model.close();
    }
  });
});

describe("the thread of an agent in the background", () => {
  it("is visible to the users who see the thread that sent it", async () => {
    const model = await startModelServer({
      handler: scriptsOf({ caller: [hands("background", { one: "Count" }), { text: "Sent." }], one: [{ text: "3." }] }),
    });
    try {
      const { openai } = loadConfig({ OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: model.url });
      const agent = { agent: join(projectFolder, "src/graph/workflow.ts:workflow") };
      const server = await servers.serve(rules, { openai, model: "openai:scripted" }, { graphs: agent });
      for (const [path, text] of Object.entries(agentFiles({ one: {} }))) {
        const file = join(server.config.workspace, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
      const metadata = { title: "Of the caller", note: 1 };
      const { thread_id } = Thread.parse((await by(server, "ada", "POST", "/threads", { metadata })).json());
      const input = { messages: [{ role: "user", content: "Send one" }] };
      const body = { assistant_id: "agent", input, context: { mode: "free_work" } };
      expect((await by(server, "ada", "POST", `/threads/${thread_id}/runs/wait`, body)).status).toBe(200);
      const Sent = z.array(z.looseObject({ thread_id: z.string(), run_id: z.string() }));
      const [sent] = Sent.parse((await by(server, "ada", "GET", `/threads/${thread_id}/agents`)).json());
      const path = `/threads/${sent?.thread_id}`;
      const shown = Thread.parse((await by(server, "ada", "GET", path)).json());
      expect(shown.metadata).toMatchObject({ background_of: thread_id, readers: ["ada"], team: "blue", note: 1 });
      expect(shown.metadata).not.toHaveProperty("title");
      await by(server, "ada", "GET", `${path}/runs/${sent?.run_id}/join`);
      const run = z
        .looseObject({ status: z.string(), kwargs: z.looseObject({ config: z.unknown() }) })
        .parse((await by(server, "ada", "GET", `${path}/runs/${sent?.run_id}`)).json());
      expect(run.status).toBe("success");
      expect(run.kwargs.config).toMatchObject({ configurable: { langgraph_auth_user: { identity: "ada" } } });
      expect((await by(server, "bob", "GET", path)).status).toBe(404);
    } finally {
      await model.close();
    }
  });
});
