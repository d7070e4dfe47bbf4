import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const area = "0f0e0d0c-0b0a-4908-8706-050403020100";
const Data = z.strictObject({ data: z.looseObject({ id: z.string(), title: z.string() }) });
const List = z.strictObject({ data: z.array(z.looseObject({ title: z.string() })) });

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

async function create(body: object, headers: Record<string, string> = {}): Promise<string> {
  const response = await server.send("POST", "/api/tasks", body, headers);
  expect(response.status).toBe(200);
  return Data.parse(await response.json()).data.id;
}

async function titles(context: string): Promise<string[]> {
  const response = await server.send("GET", `/api/views/${context}/tasks`);
  return List.parse(await response.json()).data.map(({ title }) => title);
}

describe("the planner's tasks over HTTP", () => {
  it("are created, shown by view, changed, scheduled and deleted, each answer under data", async () => {
    const id = await create({ title: " Write the report ", area_id: area, scheduled_date: "2028-02-29" });
    expect(await titles("daily::2028-02-29")).toEqual(["Write the report"]);
    expect(await titles(`area::${area}`)).toEqual(["Write the report"]);
    expect(await titles("staging")).toEqual([]);

    const changed = await server.send("PATCH", `/api/tasks/${id}`, { completed: true });
    expect(await changed.json()).toEqual({
      data: {
        id,
        title: "Write the report",
        completed: true,
        area_id: area,
        scheduled_dates: ["2028-02-29"],
        created_at: expect.any(String),
        updated_at: expect.any(String),
        thread_id: null,
      },
    });

    const planned = await server.send("POST", `/api/tasks/${id}/schedules`, { scheduled_date: "2028-03-01" });
    const { data } = z.object({ data: z.object({ schedule_id: z.uuid() }).loose() }).parse(await planned.json());
    expect(data).toEqual({ schedule_id: data.schedule_id, task_id: id, scheduled_date: "2028-03-01" });
    expect(await titles("daily::2028-03-01")).toEqual(["Write the report"]);
    const again = await server.send("POST", `/api/tasks/${id}/schedules`, { scheduled_date: "2028-03-01" });
    expect(await again.json()).toEqual({ data });
    expect((await server.send("DELETE", `/api/tasks/${id}/schedules/${data.schedule_id}`)).status).toBe(200);
    expect(await titles("daily::2028-03-01")).toEqual([]);
    expect((await server.send("DELETE", `/api/tasks/${id}/schedules/${data.schedule_id}`)).status).toBe(404);

    const gone = await server.send("DELETE", `/api/tasks/${id}`);
    expect([gone.status, await gone.json()]).toEqual([200, { data: null }]);
    expect((await server.send("GET", `/api/tasks/${id}`)).status).toBe(404);
  });

  it("change only in what is sent", async () => {
    const id = await create({ title: "old", area_id: area });
    const send = async (body: object) => (await server.send("PATCH", `/api/tasks/${id}`, body)).json();
    expect(await send({ title: "new" })).toMatchObject({ data: { title: "new", area_id: area, completed: false } });
    expect(await send({ area_id: null })).toMatchObject({ data: { title: "new", area_id: null } });
    expect(await (await server.send("GET", `/api/tasks/${id}`)).json()).toMatchObject({ data: { id, title: "new" } });
  });

  it("are counted, as they stand on a day", async () => {
    const other = await startTestServer();
    try {
      const add = async (title: string, more: object = {}): Promise<string> =>
        Data.parse(await (await other.send("POST", "/api/tasks", { title, ...more })).json()).data.id;
      await add("late", { scheduled_date: "2026-03-01", area_id: area });
      const done = await add("done", { scheduled_date: "2026-03-01", area_id: area });
      await add("today", { scheduled_date: "2026-03-02" });
      const moved = await add("moved", { scheduled_date: "2026-03-01" });
      await other.send("POST", `/api/tasks/${moved}/schedules`, { scheduled_date: "2026-03-09" });
      await add("some day");
      await other.send("PATCH", `/api/tasks/${done}`, { completed: true });
      const counted = {
        total: 5,
        completed: 1,
        open: 4,
        without_date: 1,
        overdue: 1,
        areas: [
          { area_id: area, total: 2, completed: 1 },
          { area_id: null, total: 3, completed: 0 },
        ],
      };
      const path = "/api/tasks/statistics?today=2026-03-02";
      expect(await (await other.send("GET", path)).json()).toEqual({ data: counted });
      expect((await other.send("GET", "/api/tasks/statistics?today=2026-02-30")).status).toBe(400);
      const thread = (await other.client.threads.create()).thread_id;
      const body = { args: { today: "2026-03-02" } };
      const byTool = await (await other.send("POST", `/threads/${thread}/tools/task_statistics/run`, body)).json();
      expect(byTool).toMatchObject({
        result: { message: "5 tasks: 4 open, 1 completed; 1 overdue, 1 without a date.", data: counted },
      });
    } finally {
      await other.remove();
    }
  });

  it("are created once under one key", async () => {
    const key = { "idempotency-key": "the-same" };
    const id = await create({ title: "once" }, key);
    expect(await create({ title: "once" }, key)).toBe(id);
    expect((await titles("staging")).filter((title) => title === "once")).toHaveLength(1);
  });

  it.each([
    ["POST", "/api/tasks", {}, 400, /title/],
    ["POST", "/api/tasks", { title: "  " }, 400, /not empty/],
    ["POST", "/api/tasks", { title: "x".repeat(501) }, 400, /500/],
    ["POST", "/api/tasks", { title: "a", area_id: "home" }, 400, /UUID of an area/],
    ["POST", "/api/tasks", { title: "a", scheduled_date: "2026-02-30" }, 400, /date that exists/],
    ["POST", "/api/tasks", { title: "a", scheduled_date: "2027-02-29" }, 400, /date that exists/],
    ["POST", "/api/tasks", { title: "a", scheduled_date: "tomorrow" }, 400, /YYYY-MM-DD/],
    ["GET", "/api/views/daily::2026-02-30/tasks", undefined, 400, /daily::YYYY-MM-DD.*staging.*area::<uuid>/],
    ["GET", "/api/views/area::home/tasks", undefined, 400, /area::<uuid>/],
    ["GET", "/api/views/everything/tasks", undefined, 400, /staging/],
    ["PATCH", "/api/tasks/x", { title: "a" }, 404, /no task with the id/],
    ["PATCH", "/api/tasks/x", {}, 400, /at least one of title, completed and area_id/],
    ["PATCH", "/api/tasks/x", { completed: "yes" }, 400, /boolean/],
    ["POST", "/api/tasks/x/schedules", { scheduled_date: "2026-03-02" }, 404, /no task/],
    ["POST", "/api/tasks/x/schedules", { scheduled_date: "2026-06-31" }, 400, /date that exists/],
    ["DELETE", "/api/tasks/x", undefined, 404, /no task/],
  ] as const)("%s %s with %j is refused with %i", async (method, path, body, status, message) => {
    const response = await server.send(method, path, body, { accept: "application/json" });
    expect([response.status, await response.text()]).toEqual([status, expect.stringMatching(message)]);
  });

  it("are those that tools work on, know the thread they were made in, and stay over a restart", async () => {
    const thread = (await server.client.threads.create()).thread_id;
    const run = await server.send("POST", `/threads/${thread}/tools/create_task/run`, {
      args: { title: "by hand", scheduled_date: "2031-01-01" },
    });
    expect(await run.json()).toMatchObject({ result: { success: true, data: { title: "by hand" } } });
    expect(await titles("daily::2031-01-01")).toEqual(["by hand"]);
    await server.close();
    server = await server.restart();
    const found = await server.send("GET", "/api/views/daily::2031-01-01/tasks");
    expect(await found.json()).toMatchObject({ data: [{ title: "by hand", thread_id: thread }] });
  });
});

describe("the planner's tasks of several owners", () => {
  const as = (owner: string) => ({ "x-api-key": `key-of-${owner}` });

  it("are separate per owner, in tools and over HTTP, and closed to owners without permission", async () => {
    const shared = await startTestServer({
      apiKeys: ["ada", "bob", "guest"].map((owner) => ({ owner, key: `key-of-${owner}` })),
      ownerTools: { guest: ["files"] },
    });
    try {
      const created = await shared.send("POST", "/api/tasks", { title: "hers" }, as("ada"));
      const { id } = Data.parse(await created.json()).data;
      const thread = z
        .looseObject({ thread_id: z.string() })
        .parse(await (await shared.send("POST", "/threads", {}, as("bob"))).json()).thread_id;
      const byTool = async (name: string, args: object) =>
        (await shared.send("POST", `/threads/${thread}/tools/${name}/run`, { args }, as("bob"))).json();
      expect(await byTool("create_task", { title: "his" })).toMatchObject({ result: { success: true } });
      const seen = await byTool("read_tasks", { view_context: "staging" });
      expect(seen).toMatchObject({ result: { data: { tasks: [{ title: "his" }] } } });
      expect(await byTool("delete_task", { task_id: id })).toMatchObject({ result: { errorType: "not_found" } });
      for (const [method, path, body] of [
        ["GET", `/api/tasks/${id}`, undefined],
        ["PATCH", `/api/tasks/${id}`, { title: "mine now" }],
        ["POST", `/api/tasks/${id}/schedules`, { scheduled_date: "2026-03-02" }],
        ["DELETE", `/api/tasks/${id}`, undefined],
      ] as const) {
        expect((await shared.send(method, path, body, as("bob"))).status, `${method} ${path}`).toBe(404);
      }
      const hers = await shared.send("GET", "/api/views/staging/tasks", undefined, as("ada"));
      expect(List.parse(await hers.json()).data).toMatchObject([{ id, title: "hers" }]);
      expect((await shared.send("POST", "/api/tasks", { title: "x" }, as("guest"))).status).toBe(403);
      expect((await shared.send("GET", "/api/views/staging/tasks", undefined, as("guest"))).status).toBe(403);
    } finally {
      await shared.remove();
    }
  });

  it("are not there where the planner is switched off", async () => {
    const other = await startTestServer({ toolkits: ["files"] });
    try {
      const refused = await other.send("GET", "/api/views/staging/tasks", undefined, { accept: "application/json" });
      expect([refused.status, await refused.json()]).toMatchObject([403, { errorType: "permission" }]);
    } finally {
      await other.remove();
    }
  });
});
