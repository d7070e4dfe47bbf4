import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Tool } from "../../../src/tools/runtime/tool.ts";
import { createMemoryTasks } from "@millrace/engine/storage/memory";
import { plannerTools as tools } from "../tools/index.ts";
import { plannerTasks } from "../tasks/task-service.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";
import { startModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { aWorkspace, type Workspace } from "../../../tests/support/a-workspace.ts";
import { tasksKey } from "../tasks/session-tasks.ts";
import { ToolkitServices } from "../../../src/tools/runtime/toolkit-services.ts";
import type { ToolResult } from "../../../src/tools/runtime/result.ts";

let workspace: Workspace;
let close: () => Promise<void>;
beforeEach(async () => {
  workspace = await aWorkspace();
  close = async () => undefined;
});
afterEach(async () => {
  await close();
  await workspace[Symbol.asyncDispose]();
});

const area = "0f0e0d0c-0b0a-4908-8706-050403020100";

/** Calls a tool of the planner on the tasks of a service. */
async function call(
  baseUrl: string,
  tool: Tool,
  input: object,
  signal = new AbortController().signal,
): Promise<ToolResult> {
  const tasks = plannerTasks({ baseUrl, apiKey: "key-of-ann" }, createMemoryTasks());
  const toolkitServices = new ToolkitServices().add(tasksKey, tasks);
  const context = { ...workspace.context, toolkitServices, signal };
  return await tool.run(tool.schema.parse(input), context);
}

interface Received {
  method: string | undefined;
  url: string | undefined;
  headers: IncomingMessage["headers"];
  body: unknown;
}

/** A service that answers everything in one way, and what it was asked. */
async function aService(answer: (response: ServerResponse) => void): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    let text = "";
    request.setEncoding("utf8");
    request.on("data", (part: string) => (text += part));
    request.on("end", () => {
      received.push({ method, url, headers, body: text === "" ? undefined : JSON.parse(text) });
      answer(response);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  close = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  };
  // A server that listens on a port has an address with one.
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

const json =
  (value: unknown, status = 200) =>
  (response: ServerResponse): void => {
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  };

describe("tasks that another service keeps", () => {
  it("are made, read, changed, scheduled and deleted through its paths, and its answers are unwrapped", async () => {
    const other: TestServer = await startTestServer({ apiKeys: [{ owner: "ann", key: "key-of-ann" }] });
    close = () => other.remove();
    const run = (tool: Tool, input: object): Promise<ToolResult> => call(other.url, tool, input);
    const created = await run(tools.create_task, { title: "far away", area_id: area, scheduled_date: "2026-03-02" });
    expect(created).toMatchObject({ success: true, message: 'Task created: "far away".' });
    const id = (created.data as { id: string }).id; // the result's own form
    expect(await run(tools.read_tasks, { view_context: "daily::2026-03-02" })).toMatchObject({
      message: "1 task found.",
      data: { tasks: [{ id, title: "far away", area_id: area }] },
    });
    expect(await run(tools.update_task, { task_id: id, completed: true })).toMatchObject({
      message: 'Task updated: "far away".',
      data: { completed: true, title: "far away" },
    });
    expect(await run(tools.create_schedule, { task_id: id, scheduled_date: "2026-03-09" })).toMatchObject({
      message: 'Task "far away" is scheduled for 2026-03-09.',
      data: { task: { scheduled_dates: ["2026-03-02", "2026-03-09"] } },
    });
    expect(await run(tools.delete_task, { task_id: id })).toMatchObject({
      message: 'Task deleted: "far away".',
      data: null,
    });
    for (const [tool, input] of [
      [tools.update_task, { task_id: id, title: "x" }],
      [tools.create_schedule, { task_id: id, scheduled_date: "2026-03-09" }],
      [tools.delete_task, { task_id: id }],
    ] as const) {
      expect(await run(tool as Tool, input)).toMatchObject({ success: false, errorType: "not_found" });
    }
  });

  it("are asked for with the listed paths, one set of headers, and only what is supplied", async () => {
    const { url, received } = await aService(json({ data: { id: "7", title: "t" } }));
    await call(url, tools.create_task, { title: "t" });
    await call(url, tools.update_task, { task_id: "a/b", completed: false });
    await call(url, tools.create_schedule, { task_id: "7", scheduled_date: "2026-03-09" });
    expect(received.slice(0, 3).map(({ method, url: path, body }) => [method, path, body])).toEqual([
      ["POST", "/api/tasks", { title: "t" }],
      ["PATCH", "/api/tasks/a%2Fb", { completed: false }],
      ["POST", "/api/tasks/7/schedules", { scheduled_date: "2026-03-09" }],
    ]);
    for (const { headers } of received) {
      expect(headers).toMatchObject({ authorization: "Bearer key-of-ann", accept: "application/json" });
    }
  });

  it("are created one by one, though the model asks for several at once", async () => {
    const titles = ["one", "two", "three"];
    let open = 0;
    let maxOpen = 0;
    const { url, received } = await aService((response) => {
      open += 1;
      maxOpen = Math.max(maxOpen, open);
      // Long enough for the other calls to arrive, if they did not wait for this one.
      setTimeout(() => {
        open -= 1;
        json({ data: { id: randomUUID(), title: "t" } })(response);
      }, 50);
    });
    const model = await startModelServer({
      script: [
        { toolCalls: titles.map((title) => ({ name: "create_task", arguments: { title } })) },
        { text: "I have created 3 tasks." },
      ],
    });
    const server = await startTestServer({
      graphs: join(projectFolder, "langgraph.json"),
      model: "openai:scripted",
      openai: { apiKey: "test-key", baseUrl: model.url },
      planner: { baseUrl: url, apiKey: undefined },
    });
    const closeService = close;
    close = async () => {
      await server.remove();
      await model.close();
      await closeService();
    };
    const asked = { messages: [{ role: "user", text: "Create 3 tasks: one, two and three" }] };
    expect((await server.send("POST", "/api/ai/chat", asked)).status).toBe(200);
    expect(received.map(({ body }) => body)).toMatchObject(titles.map((title) => ({ title })));
    expect(maxOpen).toBe(1);
  });

  it.each(["..", ".", " .. ", "a/../b", "..\\..", "\ud800"])(
    "are never asked for under an id that leads to another path: %j",
    async (id) => {
      const { url, received } = await aService(json({ data: { id: "7", title: "t" } }));
      const tasks = plannerTasks({ baseUrl: url, apiKey: "key-of-ann" }, createMemoryTasks());
      const refused = { code: "invalid_parameter" };
      // Some are made where the id is looked at, before anything is waited for.
      const all = [
        async () => tasks.get(id),
        async () => tasks.update(id, { completed: true }),
        async () => tasks.schedule(id, "2026-03-09"),
        async () => tasks.unschedule(id, "2026-03-09"),
        async () => tasks.delete(id),
      ];
      for (const attempt of all) await expect(attempt()).rejects.toMatchObject(refused);
      await expect((async () => tasks.get("a..b"))()).resolves.toMatchObject({ task_id: "7" });
      expect(received.map(({ url: path }) => path)).toEqual(["/api/tasks/a..b"]);
    },
  );

  it.each([
    ["an array", { data: [{ id: 1, title: "a" }] }],
    ["a list under tasks", { data: { tasks: [{ task_id: "1", title: "a", scheduled_date: null }] } }],
  ])("are read where a view is %s", async (_, answer) => {
    const { url, received } = await aService(json(answer));
    const result = await call(url, tools.read_tasks, { view_context: "staging" });
    expect(result).toMatchObject({ success: true, data: { tasks: [{ id: "1", title: "a", completed: false }] } });
    expect(received[0]?.url).toBe("/api/views/staging/tasks");
  });

  it.each([
    ["api_error", json({ error: "broken" }, 500), /status 500.*broken/],
    ["api_error", json({ error: "no such area" }, 422), /status 422.*no such area/],
    ["auth", json({}, 401), /status 401/],
    ["auth", json({ error: "no such key: key-of-ann" }, 401), /status 401.*no such key: \[redacted\]/],
    ["permission", json({}, 403), /status 403/],
    ["conflict", json({}, 409), /status 409/],
    ["rate_limit", json({}, 429), /status 429/],
    ["api_error", json({}, 404), /does not create tasks/],
    ["invalid_format", (response: ServerResponse): void => void response.end("<html>"), /not JSON/],
    ["invalid_format", json([1]), /unexpected answer/],
    ["invalid_format", json({ data: { id: "1" } }), /unexpected answer: title/],
    ["invalid_format", json({ data: { title: "a" } }), /without an id/],
    ["network", (response: ServerResponse): void => void response.destroy(), /cannot be reached/],
    [
      "network",
      (response: ServerResponse): void => void response.writeHead(302, { location: "/" }).end(),
      /cannot be reached/,
    ],
  ] as const)("fail with %s where the service does", async (errorType, answer, message) => {
    const { url } = await aService(answer);
    const result = await call(url, tools.create_task, { title: "t" });
    expect(result).toMatchObject({ success: false, errorType });
    expect(result.content).toMatch(message);
    expect(result.content).not.toContain("key-of-ann");
  });

  it("are not created twice if the outcome of the first call is unknown", async () => {
    const tasks = plannerTasks({ baseUrl: "http://127.0.0.1:2", apiKey: undefined }, createMemoryTasks());
    const reconciled = await tools.create_task.reconcile?.(
      { title: "t" },
      {
        ...workspace.context,
        toolkitServices: new ToolkitServices().add(tasksKey, tasks),
      },
    );
    expect(reconciled).toEqual({ kind: "unknown" });
  });

  it("are not waited for when the call is stopped", async () => {
    const stop = new AbortController();
    const { url } = await aService(() => stop.abort(new Error("stopped")));
    await expect(call(url, tools.create_task, { title: "t" }, stop.signal)).rejects.toThrow("stopped");
  });
});

describe("the settings of that service", () => {
  it("are the server's own tasks without one", () => {
    const own = createMemoryTasks();
    expect(plannerTasks(undefined, own)).toBe(own);
  });
});
