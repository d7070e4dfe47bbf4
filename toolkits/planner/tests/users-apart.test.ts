import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { agentFiles, hands, scriptsOf } from "../../../tests/agents/agent-flow.ts";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

/** Access rules: the readers of a thread are its creator, or those in its metadata. The header names the caller. */
const rules = `import { Auth } from "@langchain/langgraph-sdk/auth";
export const auth = new Auth()
  .authenticate((request) => request.headers.get("x-user"))
  .on("threads:create", ({ value, user }) => {
    value.metadata = { readers: [user.identity], ...value.metadata };
    return true;
  })
  .on("threads", ({ user }) => ({ readers: { $contains: user.identity } }));`;

let folder: string;
let server: TestServer;
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer({ script: [] });
  folder = await mkdtemp(join(tmpdir(), "millrace-users-"));
  await writeFile(join(folder, "auth.mjs"), rules);
  const graphs = { agent: join(projectFolder, "src/graph/workflow.ts:workflow") };
  const auth = { path: join(folder, "auth.mjs:auth") };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs, auth }));
  server = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    apiKeys: [{ owner: "ada", key: "key-of-ada" }],
    ownerTools: { guest: ["read_tasks"] },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const Thread = z.looseObject({ thread_id: z.string() });
const Task = z.looseObject({ id: z.string(), title: z.string() });
const Values = z.looseObject({ messages: z.array(z.looseObject({ type: z.string(), content: z.string() })) });

const calls = (name: string, args: Record<string, unknown>): ModelStep => ({ toolCalls: [{ name, arguments: args }] });

/** What one caller does: a user of the rules, or with a key its owner. */
function by(headers: Record<string, string>, at = server) {
  const send = (method: string, path: string, body?: unknown): Promise<Response> =>
    at.send(method, path, body, headers);
  const json = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await send(method, path, body);
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return await response.json();
  };
  return {
    send,
    json,
    thread: async (metadata: object = {}) => Thread.parse(await json("POST", "/threads", { metadata })).thread_id,
    /** Lets the model call a tool in a run; answers with what the tool said. */
    async call(threadId: string, name: string, args: Record<string, unknown>): Promise<string> {
      model.push(calls(name, args), { text: "Done." });
      const input = { messages: [{ role: "user", content: "Work on the tasks" }] };
      const context = { mode: "free_work" };
      const body = { assistant_id: "agent", input, context };
      const { messages } = Values.parse(await json("POST", `/threads/${threadId}/runs/wait`, body));
      return messages.findLast(({ type }) => type === "tool")?.content ?? "";
    },
    add: async (title: string) => z.object({ data: Task }).parse(await json("POST", "/api/tasks", { title })).data.id,
    tasks: async () =>
      z
        .object({ data: z.array(Task) })
        .parse(await json("GET", "/api/views/staging/tasks"))
        .data.map(({ title }) => title),
  };
}
const as = (name: string) => by({ "x-user": name });

describe("the planner's tasks of users of auth.path", () => {
  it("are each user's own over HTTP, and no key's owner of the same name has them", async () => {
    const id = await as("ann").add("of Ann");
    expect(await as("ann").tasks()).toEqual(["of Ann"]);
    for (const other of [as("bob"), by({ "x-api-key": "key-of-ada" })]) {
      expect(await other.tasks()).toEqual([]);
      for (const [method, path, body] of [
        ["GET", "", undefined],
        ["PATCH", "", { title: "stolen" }],
        ["POST", "/schedules", { scheduled_date: "2026-03-02" }],
        ["DELETE", "", undefined],
      ] as const) {
        expect((await other.send(method, `/api/tasks/${id}${path}`, body)).status).toBe(404);
      }
    }
    await as("ada").add("of the user Ada");
    expect(await by({ "x-api-key": "key-of-ada" }).tasks()).toEqual([]);
    expect(await as("ann").tasks()).toEqual(["of Ann"]);
  });

  it("are those that tools of their runs see, make and change", async () => {
    const [cat, dan] = [as("cat"), as("dan")];
    const id = await cat.add("over HTTP");
    const [ofCat, ofDan] = [await cat.thread(), await dan.thread()];
    expect(await cat.call(ofCat, "create_task", { title: "by a run" })).toContain("Task created");
    expect(await cat.tasks()).toEqual(["over HTTP", "by a run"]);
    expect(await cat.call(ofCat, "read_tasks", { view_context: "staging" })).toContain("over HTTP");
    const seen = await dan.call(ofDan, "read_tasks", { view_context: "staging" });
    expect(seen).not.toMatch(/over HTTP|by a run/u);
    expect(await dan.call(ofDan, "update_task", { task_id: id, title: "stolen" })).not.toContain("stolen");
    expect(await dan.tasks()).toEqual([]);
    expect(await cat.tasks()).toEqual(["over HTTP", "by a run"]);
  });

  it("are the caller's own, in a thread shared by rules", async () => {
    const [eve, fay] = [as("eve"), as("fay")];
    const shared = await eve.thread({ readers: ["eve", "fay"] });
    await eve.call(shared, "create_task", { title: "of Eve" });
    await fay.call(shared, "create_task", { title: "of Fay" });
    const byHand = await fay.send("POST", `/threads/${shared}/tools/create_task/run`, { args: { title: "by hand" } });
    expect(byHand.status).toBe(200);
    expect([await eve.tasks(), await fay.tasks()]).toEqual([["of Eve"], ["of Fay", "by hand"]]);
    const runs = await eve.json("GET", `/threads/${shared}/runs`);
    expect(JSON.stringify(runs)).not.toContain("user:");
  });
});

describe("an agent in the background", () => {
  it("works for the user whose run has sent it, in a thread that the rules share, too", async () => {
    const scripts = {
      caller: [hands("background", { one: "Plan" }), { text: "Sent." }],
      one: [calls("create_task", { title: "by the agent" }), { text: "Done." }],
    };
    const own = await startModelServer({ handler: scriptsOf(scripts) });
    const other = await startTestServer({
      graphs: join(folder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: own.url },
    });
    try {
      for (const [path, text] of Object.entries(agentFiles({ one: { tools: "create_task" } }))) {
        const file = join(other.config.workspace, path);
        await mkdir(dirname(file), { recursive: true });
        await writeFile(file, text);
      }
      const [eve, fay] = [by({ "x-user": "eve" }, other), by({ "x-user": "fay" }, other)];
      const shared = await eve.thread({ readers: ["eve", "fay"] });
      const input = { messages: [{ role: "user", content: "Send one" }] };
      const body = { assistant_id: "agent", input, context: { mode: "free_work" } };
      await fay.json("POST", `/threads/${shared}/runs/wait`, body);
      await expect.poll(() => fay.tasks(), { timeout: 30_000 }).toEqual(["by the agent"]);
      expect(await eve.tasks()).toEqual([]);
    } finally {
      await other.remove();
      await own.close();
    }
  });
});

describe("the limits of MILLRACE_OWNER_TOOLS", () => {
  it("hold for a user of that name, in lists, runs and by hand", async () => {
    const guest = as("guest");
    const thread = await guest.thread();
    expect(await guest.call(thread, "create_task", { title: "A" })).toContain("tool_not_found");
    expect(model.requests.at(-1)?.toolNames).toContain("read_tasks");
    expect(model.requests.at(-1)?.toolNames).not.toContain("create_task");
    expect((await guest.send("POST", `/threads/${thread}/tools/create_task/run`, { args: {} })).status).toBe(404);
    expect((await guest.send("POST", "/api/tasks", { title: "A" })).status).toBe(403);
    expect(JSON.stringify(await guest.json("GET", "/tools"))).not.toContain('"create_task"');
  });

  it("apply to the caller, in a thread created by someone else", async () => {
    const shared = await as("gil").thread({ readers: ["gil", "guest"] });
    expect(await as("guest").call(shared, "create_task", { title: "A" })).toContain("tool_not_found");
    expect((await as("guest").send("POST", `/threads/${shared}/tools/create_task/run`, { args: {} })).status).toBe(404);
    expect(await as("gil").call(shared, "create_task", { title: "A" })).toContain("Task created");
  });
});

describe("what is kept under the name of a user", () => {
  it("is not what the owner of a key has under the same name", async () => {
    const owner = by({ "x-api-key": "key-of-ada" });
    await owner.json("POST", "/namespaces/garden/current", {});
    expect(await owner.json("GET", "/namespaces")).toHaveLength(1);
    expect(await as("ada").json("GET", "/namespaces")).toEqual([]);
    const made = await as("ada").thread();
    expect((await owner.send("GET", `/threads/${made}`)).status).toBe(404);
  });

  it("names whose a cron is, as the rules name the user", async () => {
    const body = { assistant_id: "agent", schedule: "0 0 1 1 *", input: {} };
    expect(await as("ann").json("POST", "/runs/crons", body)).toMatchObject({ user_id: "ann" });
  });
});
