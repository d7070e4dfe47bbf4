import { request } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import type { TestServer } from "../../support/test-server.ts";

let servers: RulesServers;
let server: TestServer;
beforeAll(async () => {
  servers = await openRulesServers();
  const rules = `.authenticate(() => { throw new HTTPException(401, { message: "Who are you?" }); })`;
  const corsOrigins = ["*", "https://eu.smith.langchain.com"];
  const cors = { allow_origins: ["https://studio.example.org"] };
  server = await servers.serve(rules, { allowedHosts: ["agents.example.org"], corsOrigins }, { http: { cors } });
});
afterAll(() => servers.remove());

/** The status of a search with Studio's header; `fetch` would not send another `Host`. */
function search(headers: Record<string, string>): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  const studio = { "x-auth-scheme": "langsmith", "content-type": "application/json" };
  const call = request(`${server.url}/threads/search`, { method: "POST", headers: { ...studio, ...headers } });
  call.on("error", reject).on("response", (response) => resolve(response.resume().statusCode));
  call.end("{}");
  return promise;
}

describe("Studio's header", () => {
  it.each(["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])("is accepted for the host %s", async (name) => {
    const { port } = new URL(server.url);
    expect(await search({ host: `${name}:${port}` })).toBe(200);
    expect(await search({ host: name })).toBe(200);
  });

  it.each([
    ["forwarded", "for=192.0.2.7"],
    ["x-forwarded-for", "192.0.2.7"],
    ["x-forwarded-host", "agents.example.org"],
    ["x-forwarded-proto", "https"],
    ["x-real-ip", "192.0.2.7"],
    ["via", "1.1 proxy"],
  ])("is refused if %s shows that a proxy has forwarded the request", async (name, value) => {
    expect(await search({ [name]: value })).toBe(401);
  });

  it.each(["https://smith.langchain.com", "https://eu.smith.langchain.com", "https://studio.example.org"])(
    "is accepted from the origin %s, which is allowed by name",
    async (origin) => {
      expect(await search({ origin })).toBe(200);
    },
  );

  it("is refused from an origin that is only allowed by *", async () => {
    expect(await search({ origin: "https://any.example.org" })).toBe(401);
  });

  it("is refused for another host name of this server", async () => {
    expect(await search({ host: "agents.example.org" })).toBe(401);
  });
});
