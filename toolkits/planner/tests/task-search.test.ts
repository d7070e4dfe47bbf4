import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const home = "0f0e0d0c-0b0a-4908-8706-050403020100";
const work = "1f0e0d0c-0b0a-4908-8706-050403020100";
const Made = z.object({ data: z.looseObject({ id: z.string() }) });
const Found = z.object({ data: z.array(z.looseObject({ title: z.string() })) });

let server: TestServer;
const as = (owner: string) => ({ "x-api-key": `key-of-${owner}` });
async function create(body: object, owner = "ada"): Promise<string> {
  return Made.parse(await (await server.send("POST", "/api/tasks", body, as(owner))).json()).data.id;
}
async function search(body: object, owner = "ada"): Promise<string[]> {
  const response = await server.send("POST", "/api/tasks/search", body, as(owner));
  return Found.parse(await response.json()).data.map(({ title }) => title);
}

beforeAll(async () => {
  server = await startTestServer({
    apiKeys: ["ada", "bob", "eve"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { eve: ["read_file"] },
  });
  await create({ title: "Paint the door", area_id: home, scheduled_date: "2026-03-01" });
  await create({ title: "Write the report", area_id: work, scheduled_date: "2026-03-05" });
  const done = await create({ title: "Send the REPORT", area_id: work });
  await server.send("PATCH", `/api/tasks/${done}`, { completed: true }, as("ada"));
  await create({ title: "Some day" });
  await create({ title: "Of another one", area_id: work }, "bob");
});
afterAll(() => server.remove());

describe("a search for tasks", () => {
  it.each([
    [{}, ["Paint the door", "Write the report", "Send the REPORT", "Some day"]],
    [{ query: " report" }, ["Write the report", "Send the REPORT"]],
    [{ query: "report", completed: false }, ["Write the report"]],
    [{ area_id: work }, ["Write the report", "Send the REPORT"]],
    [{ area_id: null }, ["Some day"]],
    [{ scheduled: false }, ["Send the REPORT", "Some day"]],
    [{ scheduled: true, area_id: home }, ["Paint the door"]],
    [{ from: "2026-03-02" }, ["Write the report"]],
    [{ from: "2026-03-01", to: "2026-03-01" }, ["Paint the door"]],
    [{ to: "2026-02-28" }, []],
  ])("finds what fits all of it: %j", async (asked, titles) => {
    expect(await search(asked)).toEqual(titles);
  });

  it("has pages with the number of all, and refuses what is no day or no area", async () => {
    const page = await server.send("POST", "/api/tasks/search", { limit: 2, offset: 1 }, as("ada"));
    expect([page.headers.get("x-pagination-total"), page.headers.get("x-pagination-next")]).toEqual(["4", "3"]);
    expect(Found.parse(await page.json()).data).toMatchObject([{ title: "Write the report" }, {}]);
    for (const body of [{ from: "2026-02-30" }, { area_id: "home" }, { limit: 0 }]) {
      expect((await server.send("POST", "/api/tasks/search", body, as("ada"))).status).toBe(400);
    }
  });

  it("and the areas are the caller's own, and refused where the planner is", async () => {
    const areas = async (owner: string) =>
      await server.send("GET", "/api/areas?today=2026-03-02", undefined, as(owner));
    expect(await (await areas("ada")).json()).toEqual({
      data: [
        { area_id: home, total: 1, open: 1, completed: 0, overdue: 1, updated_at: expect.any(String) },
        { area_id: work, total: 2, open: 1, completed: 1, overdue: 0, updated_at: expect.any(String) },
        { area_id: null, total: 1, open: 1, completed: 0, overdue: 0, updated_at: expect.any(String) },
      ],
    });
    expect(await (await areas("bob")).json()).toMatchObject({ data: [{ area_id: work, total: 1 }] });
    expect(await search({}, "bob")).toEqual(["Of another one"]);
    expect((await areas("eve")).status).toBe(403);
    expect((await server.send("POST", "/api/tasks/search", {}, as("eve"))).status).toBe(403);
  });
});

it("the feed reports a change of a task to its owner alone", async () => {
  const closing = new AbortController();
  const received: Record<string, string> = { ada: "", bob: "" };
  const follow = async (owner: string): Promise<void> => {
    const response = await fetch(`${server.url}/feed`, { headers: as(owner), signal: closing.signal });
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) received[owner] += decoder.decode(piece, { stream: true });
  };
  const readers = ["ada", "bob"].map((owner) => follow(owner).catch(() => undefined));
  try {
    await expect.poll(() => Object.values(received).every((text) => text.includes('"state"'))).toBe(true);
    const id = await create({ title: "Reported" });
    await expect.poll(() => received["ada"]).toContain(`"type":"task","id":"${id}","thread_id":null,"what":"created"`);
    await server.send("PATCH", `/api/tasks/${id}`, { completed: true }, as("ada"));
    await expect.poll(() => received["ada"]).toContain('"what":"changed"');
    await server.send("DELETE", `/api/tasks/${id}`, undefined, as("ada"));
    await expect.poll(() => received["ada"]).toContain('"what":"deleted"');
    const own = await create({ title: "Of bob" }, "bob");
    await expect.poll(() => received["bob"]).toContain(own);
    expect(received["bob"]).not.toContain(id);
    expect(received["ada"]).not.toContain(own);
  } finally {
    closing.abort();
    await Promise.all(readers);
  }
});
