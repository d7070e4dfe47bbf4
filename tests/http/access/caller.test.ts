import { afterEach, describe, expect, it } from "vitest";
import { byHeader, openRulesServers } from "../../support/rules-servers.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let stop: (() => Promise<void>) | undefined;
afterEach(async () => {
  await stop?.();
  stop = undefined;
});

async function start(...given: Parameters<typeof startTestServer>): Promise<TestServer> {
  const server = await startTestServer(...given);
  stop = () => server.remove();
  return server;
}

const me = async (server: TestServer, headers: Record<string, string> = {}): Promise<unknown> =>
  (await server.send("GET", "/me", undefined, headers)).json();

describe("the caller", () => {
  it("GET /me 200: every caller may administer where no key is needed", async () => {
    const before = new Date().toISOString();
    const server = await start();
    const answer = await me(server, { "accept-language": "zh-CN, en;q=0.5" });
    expect(answer).toMatchObject({
      caller: "anyone",
      name: null,
      may_administer: true,
      language: "zh",
      disabled: [],
      server: { name: "millrace", version: expect.stringMatching(/^\d+\.\d+/u) },
      features: { agent: true, langsmith: false },
    });
    const { started_at } = (answer as { server: { started_at: string } }).server; // matched above
    expect(started_at >= before && started_at <= new Date().toISOString()).toBe(true);
  });

  it("GET /me 200: the owner of the key; without a key it is refused", async () => {
    const apiKeys = ["ada", "admin"].map((owner) => ({ owner, key: `key-of-${owner}` }));
    const server = await start({ apiKeys });
    const ada = await me(server, { "x-api-key": "key-of-ada" });
    expect(ada).toMatchObject({ caller: "owner", name: "ada", may_administer: false, language: "en" });
    expect(await me(server, { "x-api-key": "key-of-admin" })).toMatchObject({ name: "admin", may_administer: true });
    expect((await server.send("GET", "/me")).status).toBe(401);
    // Only administrators see the state of the server.
    const asked = (owner: string) => server.send("GET", "/server", undefined, { "x-api-key": `key-of-${owner}` });
    expect((await asked("ada")).status).toBe(403);
    expect(await (await asked("admin")).json()).toMatchObject({
      database: { kind: expect.stringMatching(/^(?:sqlite|postgres)$/u), bytes: expect.any(Object) },
      disk: { free_bytes: expect.any(Number) },
      runs: { running: 0, waiting: 0, slots: server.config.maxConcurrentRuns },
      graphs: { served: expect.arrayContaining(["toolUser"]), not_served: [] },
      problems: [],
    });
  });

  it("GET /me 200: a user of the auth rules, and what the langgraph.json disables", async () => {
    const servers = await openRulesServers();
    stop = () => servers.remove();
    const server = await servers.serve(byHeader, {}, { http: { disable_a2a: true, disable_store: true } });
    expect(await me(server, { "x-user": "bob" })).toMatchObject({
      caller: "user",
      name: "bob",
      display_name: "bob",
      may_administer: false,
      disabled: ["store", "a2a"],
    });
  });
});
