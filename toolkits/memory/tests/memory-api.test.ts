import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer } from "../../../tests/support/test-server.ts";
import { Listed, startMemoryServer, systemOf, type MemoryServer, type Owner } from "./memory-server.ts";

let memory: MemoryServer;
beforeAll(async () => {
  memory = await startMemoryServer();
});
afterAll(() => memory.close());

describe("the API", () => {
  const owner = (): Owner => memory.by("bob");
  beforeEach(async () => void (await owner().json("DELETE", "/api/memory")));

  it("lists, reads, changes and deletes, for the caller alone", async () => {
    const id = await owner().save("Speaks Danish");
    await owner().save("Prefers short answers", "preference");
    expect(await owner().json("GET", "/api/memory?kind=preference")).toMatchObject({
      data: [{ kind: "preference", slot: null, content: "Prefers short answers" }],
      is_on: true,
      limits: { memories: 200, characters: 500, total: 40_000 },
    });
    expect(await owner().json("GET", "/api/memory?query=danish")).toMatchObject({ data: [{ id }, {}] });
    for (const [method, body] of [["GET"], ["PATCH", { content: "stolen" }], ["DELETE"]] as const) {
      expect((await memory.by("cat").send(method, `/api/memory/${id}`, body)).status).toBe(404);
    }
    const changed = { kind: "entity", slot: "language", content: "Danish" };
    expect(await owner().json("PATCH", `/api/memory/${id}`, changed)).toMatchObject({ data: { id, ...changed } });
    expect(await owner().json("GET", `/api/memory/${id}`)).toMatchObject({ data: changed });
    await owner().json("DELETE", `/api/memory/${id}`);
    expect(await owner().list()).toEqual(["Prefers short answers"]);
    expect(await owner().json("DELETE", "/api/memory")).toEqual({ data: { deleted: 1 } });
  });

  it.each([
    [{ kind: "fact", content: "x".repeat(501) }, 400, "at most 500 characters"],
    [{ kind: "fact", slot: "city", content: "Oslo" }, 400, "expected a slot with the kind entity"],
    [{ kind: "fact", content: "My API key is abc" }, 403, "password"],
    [{ kind: "fact", content: "The database has key-of-dan" }, 403, "password"],
  ])("refuses %j", async (body, status, words) => {
    const response = await owner().send("POST", "/api/memory", body);
    expect(response.status).toBe(status);
    expect(await response.text()).toContain(words);
    expect(await owner().list()).toEqual([]);
  });

  it("says that the memory is full, by number and by length, and has room again when one is deleted", async () => {
    const long = (at: number): string => `${at} ${"long ".repeat(99)}`.slice(0, 500).trim();
    await Promise.all(Array.from({ length: 80 }, (_, at) => owner().save(long(at))));
    const body = { kind: "fact", content: long(99) };
    const response = await owner().send("POST", "/api/memory", body);
    expect(response.status).toBe(413);
    expect(await response.text()).toMatch(/the memory is full, \d+ of 40000 characters are taken/u);
    await owner().json("DELETE", "/api/memory");
    await Promise.all(Array.from({ length: 200 }, (_, at) => owner().save(`Fact ${at}`)));
    const ids = Listed.parse(await owner().json("GET", "/api/memory")).data.map(({ id }) => id);
    expect(await (await owner().send("POST", "/api/memory", body)).text()).toContain("200 of 200 memories are there");
    const system = systemOf(await owner().say(await owner().thread(), "Tell me Fact 7"));
    expect(system).toContain("] Fact 7\n");
    expect(system.match(/\] Fact \d+/gu)?.length).toBeLessThan(150);
    await owner().json("DELETE", `/api/memory/${String(ids[0])}`);
    expect((await owner().send("POST", "/api/memory", body)).status).toBe(200);
  });

  it("saves one memory of many that say the same and come at once", async () => {
    const many = Array.from({ length: 8 }, (_, at) => owner().save(at % 2 === 0 ? "Owns a boat" : "owns a boat!"));
    expect(new Set(await Promise.all(many)).size).toBe(1);
    expect(await owner().list()).toHaveLength(1);
  });
});

it("memories are found by meaning where the store has an index, also after a change", async () => {
  const meaning = (text: string): number[] =>
    [/\b(?:pet|cat)/iu, /\b(?:vehicle|boat)/iu].map((of) => Number(of.test(text)));
  const embedding = await startModelServer({ embed: (text) => [...meaning(text), 0.1] });
  const folder = await mkdtemp(join(tmpdir(), "millrace-memory-"));
  const graphs = { agent: `${join(projectFolder, "src/graph/workflow.ts")}:workflow` };
  const index = { embed: "openai:text-embedding-3-small", dims: 3 };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs, store: { index } }));
  const indexed = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    openai: { apiKey: "test-key", baseUrl: embedding.url },
    apiKeys: [{ owner: "ada", key: "key-of-ada" }],
  });
  try {
    const ada = memory.by("ada", indexed);
    const first = await ada.save("Has a cat");
    await ada.save("Owns a boat");
    const found = async (query: string): Promise<string | undefined> =>
      Listed.parse(await ada.json("GET", `/api/memory?query=${query}`)).data[0]?.content;
    expect([await found("pets"), await found("vehicles")]).toEqual(["Has a cat", "Owns a boat"]);
    await ada.json("PATCH", `/api/memory/${first}`, { content: "Sold the boat" });
    await ada.save("Feeds a cat");
    expect(await found("pets")).toBe("Feeds a cat");
  } finally {
    await indexed.remove();
    await embedding.close();
    await rm(folder, { recursive: true });
  }
});
