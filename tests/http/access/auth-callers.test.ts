import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { eventsOf } from "@millrace/testing/read-events";
import { byHeader, openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import type { TestServer } from "../../support/test-server.ts";

let servers: RulesServers;
beforeAll(async () => {
  servers = await openRulesServers();
});
afterAll(() => servers.remove());

const Thread = z.object({ thread_id: z.string() });
const Changed = z.object({ thread_id: z.string().nullable() });
const byToken = `.authenticate(({ headers }) => ({ identity: headers.get("x-user"), token: headers.get("x-token") }))`;
const current = "/namespaces/default/current";

async function threadOf(answer: Response): Promise<string> {
  return Thread.parse(await answer.json()).thread_id;
}

/** Subscribes to a namespace; `next` gives the thread of the next event. */
async function follow(server: TestServer, headers: Record<string, string>) {
  const events = eventsOf(await server.send("GET", "/namespaces/default/stream", undefined, headers));
  return {
    next: async (): Promise<string | null> => Changed.parse((await events.next()).value?.data).thread_id,
    leave: () => events.return(undefined),
  };
}

describe("a user with different fields in each request", () => {
  it("shares a namespace with themselves: of many concurrent requests, one creates the thread", async () => {
    const server = await servers.serve(byToken);
    const open = (token: string): Promise<Response> =>
      server.send("POST", current, {}, { "x-user": "ada", "x-token": token });
    const opened = await Promise.all(["a", "b", "c", "d"].map(async (token) => threadOf(await open(token))));
    expect(new Set(opened).size).toBe(1);
  });

  it("receives each change of the current thread, whichever request made it", async () => {
    const server = await servers.serve(byToken);
    const reader = await follow(server, { "x-user": "ada", "x-token": "a" });
    expect(await reader.next()).toBeNull();
    const made = await threadOf(await server.send("POST", current, {}, { "x-user": "ada", "x-token": "b" }));
    expect(await reader.next()).toBe(made);
    await server.send("DELETE", `/threads/${made}`, undefined, { "x-user": "bob", "x-token": "c" });
    expect(await reader.next()).toBeNull();
    await reader.leave();
  });
});

describe("a user that cannot be serialized as JSON", () => {
  it.each([
    ["a BigInt", "{ identity: 'ada', account: { id: 7n } }", "account.id is a bigint"],
    ["a function", "{ identity: 'ada', can: () => true }", "can is a function"],
    ["a symbol", "{ identity: 'ada', teams: [Symbol('blue')] }", "teams.0 is a symbol"],
    ["a Map", "{ identity: 'ada', teams: new Map([['blue', 1]]) }", "teams is a Map"],
    ["a cycle", "(() => { const user = { identity: 'ada' }; user.self = { user }; return user; })()", "self.user"],
  ])("is refused with an error that describes %s", async (_name, user, problem) => {
    const server = await servers.serve(`.authenticate(() => (${user}))`);
    const headers = { accept: "application/json" };
    const answer = await server.send("POST", "/threads", {}, headers);
    expect(answer.status).toBe(500);
    expect(await answer.json()).toMatchObject({
      errorType: "config",
      message: expect.stringMatching(/^authenticate of auth\.path answered with a user that JSON cannot hold/u),
    });
    const again = await server.send("POST", "/threads", {});
    expect(await again.text()).toContain(problem);
  });

  it("is accepted where JSON can serialize it, and a repeated value is no cycle", async () => {
    const team = "const team = { name: 'blue' };";
    const user = `{ identity: "ada", since: new Date(0), home: new URL("http://localhost"), teams: [team, team], none: undefined }`;
    const server = await servers.serve(`.authenticate(() => { ${team} return ${user}; })
      .on("threads:create", ({ value, user }) => void (value.metadata.year = user.since.getFullYear()))`);
    const answer = await server.send("POST", "/threads", {});
    expect(await answer.json()).toMatchObject({ metadata: { year: 1970 } });
  });
});

it("an http.app that is invalid keeps the server from starting", async () => {
  const http = { app: join(import.meta.dirname, "..", "..", "fixtures", "graphs", "asking.ts:graph") };
  const started = servers.serve(byHeader, {}, { http });
  await expect(started).rejects.toMatchObject({ code: "config", message: expect.stringContaining("no Hono app") });
});
