import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import type { Config } from "@millrace/engine/config/config";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

/** The meaning of a text: the sea, cats, or anything else. */
function meaning(text: string): number[] {
  const count = (words: RegExp): number => text.match(words)?.length ?? 0;
  return [count(/sea|ocean|tide/giu), count(/cat|kitten/giu), 0.1];
}

interface Started {
  server: TestServer;
  model: ModelServer;
  /** Warnings of the log. */
  warned: Record<string, unknown>[];
  /** Sets what the server answers from now on. */
  answer: (embed: (text: string) => number[] | number) => void;
}

/** A server whose `langgraph.json` has this index; `embed` answers its requests, like OpenAI and like Ollama. */
async function start(
  index: object,
  changes: Partial<Config> = {},
  files: Record<string, string> = {},
): Promise<Started> {
  let embed: (text: string) => number[] | number = meaning;
  const model = await startModelServer({ embed: (text) => embed(text) });
  const folder = await mkdtemp(join(tmpdir(), "millrace-index-"));
  // Also if the server does not start.
  cleanups.push(
    () => rm(folder, { recursive: true }),
    () => model.close(),
  );
  const graph = fileURLToPath(new URL("../../support/test-graphs.ts", import.meta.url));
  const manifest = { graphs: { keeper: `${graph}:keeper` }, store: { index } };
  await writeFile(join(folder, "langgraph.json"), JSON.stringify(manifest));
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  const warned: Record<string, unknown>[] = [];
  const logger = pino({ level: "warn" }, { write: (line: string) => void warned.push(JSON.parse(line)) });
  const server = await startTestServer(
    {
      graphs: join(folder, "langgraph.json"),
      openai: { apiKey: "embed-key", baseUrl: model.url },
      ollamaBaseUrl: model.ollamaUrl,
      ...changes,
    },
    logger,
  );
  cleanups.push(() => server.remove());
  return { server, model, warned, answer: (wanted) => (embed = wanted) };
}

const openai = { embed: "openai:text-embedding-3-small", dims: 3 };

async function keysOf(
  { server }: Pick<Started, "server">,
  query: string,
  more: object = {},
): Promise<[string, number | undefined][]> {
  const { items } = await server.client.store.searchItems(["notes"], { query, ...more });
  return items.map(({ key, score }) => [
    key,
    score === undefined || score === null ? undefined : Math.round(score * 100) / 100,
  ]);
}

describe("a store with an index", () => {
  it.each([
    ["openai:text-embedding-3-small", "/v1/embeddings", "Bearer embed-key", 3],
    ["openai:bge-m3", "/v1/embeddings", "Bearer embed-key", undefined],
    ["ollama:nomic-embed-text", "/api/embed", undefined, undefined],
  ])("ranks items by similarity, by %s", async (embed, path, authorization, dimensions) => {
    const started = await start({ embed, dims: 3, fields: ["text"] });
    const { store } = started.server.client;
    await store.putItem(["notes"], "kitten", { text: "A kitten sleeps.", other: "ocean" });
    await store.putItem(["notes", "deep"], "ocean", { text: "The ocean is wide." });
    await store.putItem(["notes"], "both", { text: "A cat by the sea." });
    await store.putItem(["elsewhere"], "sea", { text: "sea" });
    expect(await keysOf(started, "tides")).toEqual([
      ["ocean", 1],
      ["both", 0.71],
      ["kitten", 0.01],
    ]);
    expect(await keysOf(started, "tides", { limit: 1, offset: 1 })).toEqual([["both", 0.71]]);
    expect(await keysOf(started, "tides", { filter: { other: "ocean" } })).toEqual([["kitten", 0.01]]);
    const asked = started.model.embedded.map(({ body }) => body.input);
    // Queries are embedded once each, and items when they are written.
    expect(asked).toEqual([["A kitten sleeps."], ["The ocean is wide."], ["A cat by the sea."], ["sea"], ["tides"]]);
    expect(started.model.embedded[0]).toMatchObject({ path, body: { model: embed.split(":")[1] } });
    expect(started.model.embedded[0]?.headers["authorization"]).toBe(authorization);
    expect(started.model.embedded[0]?.body["dimensions"]).toBe(dimensions);
    const { items } = await store.searchItems(["notes"]);
    expect(items.map(({ key }) => key)).toEqual(["both", "ocean", "kitten"]);
    expect(items[0]).not.toHaveProperty("score");
  });

  it("uses a function of the user's, or an embeddings object of LangChain", async () => {
    const source = `
      export async function embed(texts) { return texts.map((text) => [text.includes("sea") ? 1 : 0, 1]); }
      export const embeddings = { embedDocuments: async (texts) => await embed(texts) };`;
    for (const name of ["embed", "embeddings"]) {
      const started = await start({ embed: `./embed.mjs:${name}`, dims: 2 }, {}, { "embed.mjs": source });
      const { store } = started.server.client;
      await store.putItem(["notes"], "a", { text: "by the sea" });
      await store.putItem(["notes"], "b", { text: "at home" });
      expect((await keysOf(started, "seaside")).map(([key]) => key)).toEqual(["a", "b"]);
      expect(started.model.embedded).toEqual([]);
    }
  });

  it("uses the fields of an item's own index; an item without an index comes last, without a score", async () => {
    const started = await start({ ...openai, fields: ["title"] });
    const { store } = started.server.client;
    await store.putItem(["notes"], "hidden", { title: "sea" }, { index: false });
    await store.putItem(
      ["notes"],
      "own",
      { title: "home", lines: [{ text: "cat" }, { text: "sea" }] },
      { index: ["lines[*].text"] },
    );
    await store.putItem(["notes"], "usual", { title: "sea and cat", lines: [] });
    await store.putItem(["notes"], "empty", { text: "sea" });
    expect(await keysOf(started, "ocean")).toEqual([
      ["own", 1],
      ["usual", 0.71],
      ["empty", undefined],
      ["hidden", undefined],
    ]);
    expect(started.model.embedded.map(({ body }) => body.input)).toEqual([["cat", "sea"], ["sea and cat"], ["ocean"]]);
  });

  it("uses the whole value by default, and embeds again what was overwritten", async () => {
    const started = await start(openai);
    const { store } = started.server.client;
    await store.putItem(["notes"], "a", { deep: [{ text: "sea" }] });
    expect(await keysOf(started, "ocean")).toEqual([["a", 1]]);
    await store.putItem(["notes"], "a", { text: "cat" });
    expect(await keysOf(started, "ocean")).toEqual([["a", 0.01]]);
    await store.deleteItem(["notes"], "a");
    expect(await keysOf(started, "ocean")).toEqual([]);
    expect(started.model.embedded[0]?.body.input).toEqual(['{"deep":[{"text":"sea"}]}']);
  });

  it("stores an item that could not be embedded, reports it, and embeds it before the next query", async () => {
    const started = await start({ ...openai, fields: ["text"] });
    const { store } = started.server.client;
    started.answer(() => 503);
    await store.putItem(["notes"], "a", { text: "sea" });
    expect(started.warned).toMatchObject([{ msg: "items_not_embedded", items: 1, embed: openai.embed }]);
    expect(JSON.stringify(started.warned)).not.toContain("embed-key");
    expect(await store.getItem(["notes"], "a")).toMatchObject({ value: { text: "sea" } });
    await expect(keysOf(started, "ocean")).rejects.toThrow(/50\d/u);
    started.answer(meaning);
    expect(await keysOf(started, "ocean")).toEqual([["a", 1]]);
  });

  it("never shows the key, also when the vendor repeats it in its error", async () => {
    const started = await start(openai);
    started.answer(() => 401);
    await started.server.client.store.putItem(["notes"], "a", { text: "sea" });
    const refused = await started.server.send("POST", "/store/items/search", {
      namespace_prefix: ["notes"],
      query: "sea",
    });
    const text = await refused.text();
    expect(started.warned).toMatchObject([
      { msg: "items_not_embedded", error_type: "auth" },
      { msg: "request_refused", path: "/store/items/search" },
    ]);
    expect(text).toContain("OPENAI_API_KEY");
    expect(JSON.stringify(started.warned) + text).not.toContain("embed-key");
  });

  it("embeds at the first query what was stored before, and again what another index has embedded", async () => {
    const started = await start({ ...openai, fields: ["text"] });
    await started.server.client.store.putItem(["notes"], "a", { text: "sea", title: "cat" });
    const { graphs } = started.server.config;
    const manifest = (index: object | undefined): string =>
      JSON.stringify({
        graphs: { keeper: `${fileURLToPath(new URL("../../support/test-graphs.ts", import.meta.url))}:keeper` },
        store: { index },
      });
    const restarted = async (index: object | undefined): Promise<{ server: TestServer }> => {
      await started.server.close();
      await writeFile(graphs, manifest(index));
      return { server: await started.server.restart() };
    };
    const without = await restarted(undefined);
    expect(await keysOf(without, "ocean")).toEqual([["a", 0]]);
    await without.server.client.store.putItem(["notes"], "b", { text: "ocean", title: "home" });
    await without.server.close();
    const again = await restarted({ ...openai, fields: ["text"] });
    expect(new Map(await keysOf(again, "tide"))).toEqual(
      new Map([
        ["a", 1],
        ["b", 1],
      ]),
    );
    await again.server.close();
    const other = await restarted({ ...openai, fields: ["title"] });
    expect(await keysOf(other, "kitten")).toEqual([
      ["a", 1],
      ["b", 0.1],
    ]);
    await other.server.close();
  });

  it.each([400, 413, 500])(
    "embeds the others when the model refuses one of them with %i, and does not retry that one",
    async (status) => {
      const started = await start({ ...openai, fields: ["text"] });
      const { store } = started.server.client;
      started.answer(() => 503);
      for (let place = 0; place < 22; place += 1) await store.putItem(["notes"], `n${place}`, { text: "sea" });
      await store.putItem(["notes"], "refused", { text: "refused: sea" });
      await store.putItem(["notes"], "last", { text: "sea" });
      started.answer((text) => (text.startsWith("refused") ? status : meaning(text)));
      const found = await keysOf(started, "ocean", { limit: 50 });
      expect(found.filter(([, score]) => score === 1)).toHaveLength(23);
      expect(found.at(-1)).toEqual(["refused", undefined]);
      expect(started.warned.at(-1)).toMatchObject({ msg: "items_not_embedded", items: 1 });
      const asked = started.model.embedded.length;
      expect(await keysOf(started, "ocean", { limit: 50 })).toEqual(found);
      // The same item may succeed later after an error of the server.
      expect(started.model.embedded.length - asked).toBe(status === 500 ? 1 : 0);
    },
  );

  it("truncates a text that is too long for the model, and finds the item by its beginning", async () => {
    const started = await start({ ...openai, fields: ["text"] });
    started.answer((text) => (text.length > 8000 ? 400 : meaning(text)));
    await started.server.client.store.putItem(["notes"], "long", { text: `sea ${"x".repeat(20_000)}` });
    expect(started.warned).toEqual([]);
    expect(await keysOf(started, "ocean")).toEqual([["long", 1]]);
  });

  it("stops at the first request when no item can be embedded", async () => {
    const started = await start({ ...openai, fields: ["text"] });
    const { store } = started.server.client;
    started.answer(() => 401);
    for (let place = 0; place < 30; place += 1) await store.putItem(["notes"], `n${place}`, { text: "sea" });
    const asked = started.model.embedded.length;
    started.answer((text) => (text === "ocean" ? meaning(text) : 401));
    expect(await keysOf(started, "ocean", { limit: 50 })).toHaveLength(30);
    expect(started.model.embedded.length - asked).toBe(2);
    expect(started.warned.at(-1)).toMatchObject({ error_type: "auth", items: 30 });
  });

  it("embeds pending items once for concurrent queries", async () => {
    const started = await start({ ...openai, fields: ["text"] });
    const { store } = started.server.client;
    started.answer(() => 503);
    for (let place = 0; place < 45; place += 1) await store.putItem(["notes"], `n${place}`, { text: `sea ${place}` });
    started.answer(meaning);
    const asked = started.model.embedded.length;
    const queries = ["ocean", "tide", "cat", "kitten", "tides"];
    const found = await Promise.all(queries.map((query) => keysOf(started, query, { limit: 50 })));
    expect(found.map((hits) => hits.filter(([, score]) => score !== undefined).length)).toEqual([45, 45, 45, 45, 45]);
    const texts = started.model.embedded.slice(asked).flatMap(({ body }) => body.input);
    expect(texts.toSorted()).toEqual([...Array.from({ length: 45 }, (_, at) => `sea ${at}`), ...queries].toSorted());
  });

  it("answers with an error when the vectors have another length than the index", async () => {
    const started = await start({ ...openai, dims: 4 });
    await started.server.client.store.putItem(["notes"], "a", { text: "sea" });
    expect(JSON.stringify(started.warned)).toContain("store.index.dims says 4");
    await expect(keysOf(started, "ocean")).rejects.toThrow(/400.*store\.index\.dims says 4/u);
  });

  it.each<[string, object, string]>([
    ["names an unknown provider", { embed: "unknown:x", dims: 3 }, "names no known provider"],
    ["names a model without embeddings", { embed: "offline", dims: 3 }, "makes no vectors"],
    ["names a missing file", { embed: "./gone.ts:embed", dims: 3 }, "There is no file"],
    ["names no function", { embed: "./embed.mjs:embed", dims: 3 }, "is no function"],
    ["has no dims", { embed: "openai:x" }, "dims"],
  ])("keeps the server from starting if it %s", async (_, index, message) => {
    await expect(start(index, {}, { "embed.mjs": "export const embed = 3;" })).rejects.toThrow(message);
  });
});
