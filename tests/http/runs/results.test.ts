import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { startSessions, type SessionFixture } from "../../support/session-fixture.ts";

const text = Array.from({ length: 100 }, (_, at) => `${at} 😀 ${"word ".repeat(8)}`).join("\n");
let fixture: SessionFixture;
let id: string;
let path: string;
beforeAll(async () => {
  fixture = await startSessions();
  await writeFile(join(fixture.server.config.workspace, "long.txt"), text);
  ({ thread_id: id } = await fixture.server.client.threads.create());
  fixture.model.push({ toolCalls: [{ name: "search_content", arguments: { path: ".", regex: "." } }] });
  fixture.model.push({ text: "Read." });
  const input = { messages: [{ role: "user", content: "Read long.txt" }] };
  const context = { mode: "free_work", limits: { tool_result_max_length: 500 } };
  await fixture.server.client.runs.wait(id, "agent", { input, context });
  const cut = (await fixture.messages(id)).find(({ type }) => type === "tool");
  const { whole_result } = z.object({ whole_result: z.object({ id: z.string() }) }).parse(cut?.additional_kwargs);
  path = `/threads/${id}/results/${encodeURIComponent(whole_result.id)}`;
});
afterAll(() => fixture.close());

const Part = z.object({
  result_id: z.string(),
  tool: z.string(),
  characters: z.number(),
  offset: z.number(),
  next_offset: z.number().nullable(),
  content: z.string(),
});
const part = async (query: string): Promise<z.infer<typeof Part>> =>
  Part.parse(await fixture.json("GET", `${path}${query}`));

describe("GET /threads/:id/results/:result_id", () => {
  it("returns the whole result of a call, by the id in the message with the shortened one", async () => {
    const { content, characters, ...rest } = await part("");
    for (const line of text.split("\n")) expect(content).toContain(line.trimEnd());
    expect(characters).toBe(content.length);
    expect(rest).toMatchObject({ tool: "search_content", offset: 0, next_offset: null });
  });

  it("is named by the message of a chat, and by no message with a whole result", async () => {
    const Named = z.object({
      messages: z.array(z.object({ role: z.string(), whole_result: z.object({ id: z.string() }).nullable() })),
    });
    const { messages } = Named.parse(await fixture.json("GET", `/threads/${id}/messages`));
    const named = messages.flatMap(({ role, whole_result }) =>
      whole_result === null ? [] : [[role, whole_result.id]],
    );
    expect(named).toEqual([["tool", decodeURIComponent(path.split("/").at(-1) ?? "")]]);
  });

  it("has the start time that the message of a chat shows, also for a run without subscribers", async () => {
    const Timed = z.object({
      messages: z.array(z.object({ role: z.string(), call_started_at: z.string().nullable() })),
    });
    const { messages } = Timed.parse(await fixture.json("GET", `/threads/${id}/messages`));
    const Log = z.object({ calls: z.array(z.object({ started_at: z.string() })) });
    const { calls } = Log.parse(await fixture.json("GET", `/threads/${id}/tool-log`));
    expect(messages.filter(({ role }) => role === "tool").map((one) => one.call_started_at)).toEqual([
      calls[0]?.started_at,
    ]);
    expect(messages.filter((one) => one.role !== "tool" && one.call_started_at !== null)).toEqual([]);
  });

  it("returns it in parts of whole characters, which together are the whole result", async () => {
    const whole = (await part("")).content;
    let joined = "";
    for (let offset: number | null = 0; offset !== null;) {
      const { content, next_offset } = await part(`?offset=${offset}&limit=1001`);
      expect(content.isWellFormed()).toBe(true);
      joined += content;
      offset = next_offset;
    }
    expect(joined).toBe(whole);
    expect(await part("?offset=99999999")).toMatchObject({ content: "", next_offset: null });
  });

  it("returns it as plain text that no browser takes for a page", async () => {
    const response = await fixture.server.send("GET", `${path}?format=text&limit=300`);
    expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(Number(response.headers.get("x-pagination-total"))).toBeGreaterThan(text.length - 1);
    expect(Number(response.headers.get("x-pagination-next"))).toBeGreaterThanOrEqual(300);
    expect((await response.text()).length).toBeGreaterThanOrEqual(300);
  });

  it.each([
    ["?limit=0", 400],
    ["?limit=2000001", 400],
    ["?offset=-1", 400],
    ["?format=html", 400],
  ])("refuses %s", async (query, status) => {
    expect((await fixture.ask("GET", `${path}${query}`))[0]).toBe(status);
  });

  it("is 404 for an unknown result, and for one of another thread", async () => {
    expect((await fixture.ask("GET", `/threads/${id}/results/nothing`))[0]).toBe(404);
    const { thread_id: other } = await fixture.server.client.threads.create();
    expect((await fixture.ask("GET", path.replace(id, other)))[0]).toBe(404);
    expect((await fixture.ask("GET", path.replace(id, crypto.randomUUID())))[0]).toBe(404);
  });
});
