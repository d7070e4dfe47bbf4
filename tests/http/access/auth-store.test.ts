import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { byHeader, openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { rowsOf, type TestServer } from "../../support/test-server.ts";

let servers: RulesServers;
beforeAll(async () => {
  servers = await openRulesServers();
});
afterAll(() => servers.remove());

interface Answer {
  status: number;
  text: string;
}

/** The requests of a user to the store. */
function storeOf(server: TestServer, user: string) {
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const answer = await server.send(method, path, body, { "x-user": user });
    return { status: answer.status, text: await answer.text() };
  };
  return {
    put: (key: string, value: object, namespace = ["notes"]) => ask("PUT", "/store/items", { namespace, key, value }),
    delete: (key: string, namespace = ["notes"]) => ask("DELETE", "/store/items", { namespace, key }),
    async get(key: string, namespace = "notes"): Promise<{ namespace: string[]; value: object } | null> {
      const { text } = await ask("GET", `/store/items?namespace=${namespace}&key=${key}`);
      return JSON.parse(text) as { namespace: string[]; value: object } | null;
    },
  };
}

const byValue = `${byHeader}.on("store", ({ user }) => ({ of: user.identity }))`;

describe("a filter on the value of items", () => {
  it("lets no user overwrite an item that it hides", async () => {
    const server = await servers.serve(byValue);
    const [adas, bobs] = [storeOf(server, "ada"), storeOf(server, "bob")];
    expect((await adas.put("plan", { of: "ada", text: "secret" })).status).toBe(204);
    expect(await bobs.put("plan", { of: "bob", text: "mine now" })).toMatchObject({ status: 404 });
    expect(await bobs.put("plan", { of: "ada", text: "a gift" })).toEqual({ status: 403, text: "Forbidden" });
    expect((await adas.get("plan"))?.value).toEqual({ of: "ada", text: "secret" });
    expect((await adas.put("plan", { of: "ada", text: "newer" })).status).toBe(204);
    expect((await adas.get("plan"))?.value).toEqual({ of: "ada", text: "newer" });
  });

  it("lets users delete the items that it shows; a hidden item is answered like a missing one", async () => {
    const server = await servers.serve(byValue);
    const [adas, bobs] = [storeOf(server, "ada"), storeOf(server, "bob")];
    await adas.put("plan", { of: "ada" });
    expect(await bobs.get("plan")).toBeNull();
    expect(await bobs.delete("plan")).toEqual(await bobs.delete("none"));
    expect(await adas.get("plan")).not.toBeNull();
    expect((await adas.delete("plan")).status).toBe(204);
    expect(await adas.get("plan")).toBeNull();
    expect((await bobs.put("plan", { of: "bob" })).status).toBe(204);
  });

  it("gives a key to one of several concurrent writers", async () => {
    const server = await servers.serve(byValue);
    for (let round = 0; round < 10; round += 1) {
      const names = ["ada", "bob", "eve"];
      const put = (of: string): Promise<Answer> => storeOf(server, of).put(`race${round}`, { of });
      const answers = await Promise.all(names.map(put));
      expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([204, 404, 404]);
      const winner = names[answers.findIndex(({ status }) => status === 204)] ?? "";
      expect((await storeOf(server, winner).get(`race${round}`))?.value).toEqual({ of: winner });
    }
  });
});

describe("a store with an index, and a filter", () => {
  it("lets the next write begin while the item before is being embedded", async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    const name = `heldEmbedding${crypto.randomUUID().replaceAll("-", "")}`;
    Reflect.set(globalThis, name, held);
    const folder = await mkdtemp(join(tmpdir(), "millrace-held-"));
    const source = `export const embed = async (texts) => { await globalThis.${name}; return texts.map(() => [1]); };`;
    await writeFile(join(folder, "embed.mjs"), source);
    try {
      const index = { embed: `${join(folder, "embed.mjs")}:embed`, dims: 1 };
      const adas = storeOf(await servers.serve(byValue, {}, { store: { index } }), "ada");
      const first = adas.put("plan", { of: "ada", text: "one" });
      await expect.poll(async () => (await adas.get("plan"))?.value).toMatchObject({ text: "one" });
      const second = adas.put("plan", { of: "ada", text: "two" });
      await expect.poll(async () => (await adas.get("plan"))?.value).toMatchObject({ text: "two" });
      release();
      expect([(await first).status, (await second).status]).toEqual([204, 204]);
    } finally {
      release();
      Reflect.deleteProperty(globalThis, name);
      await rm(folder, { recursive: true });
    }
  });
});

/** When the item of the server expires, unless it is read before. */
const expiryOf = ({ config }: TestServer): Promise<unknown[]> => rowsOf(config, "SELECT expires_at FROM store_items");

describe("the TTL of an item", () => {
  it.each([
    ["read", "GET", "/store/items?namespace=notes&key=plan", undefined],
    ["searched for", "POST", "/store/items/search", { namespace_prefix: ["notes"] }],
  ])("restarts when it is %s by a user who may see it, and by no other", async (_name, method, path, body) => {
    const server = await servers.serve(byValue);
    const item = { namespace: ["notes"], key: "plan", value: { of: "ada" }, ttl: 60 };
    await server.send("PUT", "/store/items", item, { "x-user": "ada" });
    const read = async (user: string): Promise<unknown> => {
      await (await server.send(method, path, body, { "x-user": user })).text();
      return await expiryOf(server);
    };
    const before = await expiryOf(server);
    expect(before).toHaveLength(1);
    expect(await read("bob")).toEqual(before);
    expect(await read("ada")).not.toEqual(before);
  });
});

describe("a filter on the namespace", () => {
  it("refuses writes and deletes outside of it, whether the item exists or not", async () => {
    const rules = `${byHeader}.on("store", ({ user }) => ({ namespace: { $contains: user.identity } }))`;
    const server = await servers.serve(rules);
    const [adas, bobs] = [storeOf(server, "ada"), storeOf(server, "bob")];
    expect((await adas.put("plan", { text: "hers" }, ["ada"])).status).toBe(204);
    for (const key of ["plan", "none"]) {
      expect(await bobs.delete(key, ["ada"])).toEqual({ status: 403, text: "Forbidden" });
      expect(await bobs.put(key, {}, ["ada"])).toEqual({ status: 403, text: "Forbidden" });
    }
    expect((await adas.delete("none", ["ada"])).status).toBe(204);
    expect((await adas.get("plan", "ada"))?.value).toEqual({ text: "hers" });
  });
});

describe("a handler that changes the request", () => {
  it("can give each user a namespace of their own, without a filter", async () => {
    const rules = `${byHeader}.on("store", ({ value, user }) => {
      value.namespace = [user.identity, ...(value.namespace ?? [])];
    })`;
    const server = await servers.serve(rules);
    const [adas, bobs] = [storeOf(server, "ada"), storeOf(server, "bob")];
    await adas.put("plan", { text: "of Ada" });
    await bobs.put("plan", { text: "of Bob" });
    expect(await adas.get("plan")).toMatchObject({ namespace: ["ada", "notes"], value: { text: "of Ada" } });
    expect((await bobs.delete("plan")).status).toBe(204);
    expect(await bobs.get("plan")).toBeNull();
    expect(await adas.get("plan")).not.toBeNull();
  });

  it("may change the value that is written, and its key", async () => {
    const rules = `${byHeader}
      .on("store:put", ({ value, user }) => {
        value.value = { ...value.value, of: user.identity };
        value.key = value.key.toLowerCase();
      })
      .on("store", ({ user }) => ({ of: user.identity }))`;
    const server = await servers.serve(rules);
    expect((await storeOf(server, "ada").put("PLAN", { of: "bob", text: "hers" })).status).toBe(204);
    expect((await storeOf(server, "ada").get("plan"))?.value).toEqual({ of: "ada", text: "hers" });
    expect(await storeOf(server, "bob").get("plan")).toBeNull();
  });

  it.each([
    ["a label with a dot, which would be two labels", `value.namespace = ["ada@example.org", "notes"]`],
    ["an empty label", `value.namespace = ["", "notes"]`],
    ["a namespace that is no list", `value.namespace = "ada"`],
    ["a key that is no text", `value.key = 7`],
  ])("gets an error when it leaves %s, and nothing is written", async (_name, change) => {
    const rules = `${byHeader}.on("store:put", ({ value }) => { ${change}; })`;
    const server = await servers.serve(rules);
    expect(await storeOf(server, "ada").put("plan", {})).toMatchObject({ status: 500 });
    const headers = { "x-user": "ada", accept: "application/json" };
    const answer = await server.send("PUT", "/store/items", { namespace: ["n"], key: "k", value: {} }, headers);
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining("auth.path for store:put") });
    const found = await server.send("POST", "/store/namespaces", {}, { "x-user": "ada" });
    expect(await found.json()).toEqual({ namespaces: [] });
  });
});
