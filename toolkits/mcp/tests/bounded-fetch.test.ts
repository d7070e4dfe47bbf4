import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boundedFetch } from "../http-fetch.ts";

let url = "";
const servers: Server[] = [];
const asked: string[] = [];
/** The requests that came to another origin than the server's, with the key they have brought. */
const strangerHeard: unknown[] = [];
const redirects = new Map<string | undefined, [status: number, location: string]>();

async function listen(onRequest: RequestListener): Promise<string> {
  const server = createServer(onRequest);
  servers.push(server);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address with one.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

beforeAll(async () => {
  url = await listen((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const redirect = redirects.get(request.url);
    if (redirect !== undefined) response.writeHead(redirect[0], { location: redirect[1] }).end();
    else if (request.url === "/moved/") request.pipe(response);
    else if (request.url === "/huge") response.end(Buffer.alloc(11 * 1024 * 1024, "x"));
    else if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "100" });
      response.write("only this", () => response.destroy());
    } else if (request.url === "/endless") response.write("first");
    else response.end("small");
  });
  const stranger = await listen((request, response) => {
    strangerHeard.push(request.headers["x-api-key"]);
    response.end("stranger");
  });
  redirects.set("/elsewhere", [307, `${stranger}/mcp`]);
  redirects.set("/moved", [308, "/moved/"]);
  redirects.set("/see", [303, "/small"]);
  redirects.set("/round", [307, "/round"]);
  redirects.set("/nowhere", [307, "http://"]);
});
afterAll(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
});

describe("fetch for an MCP server", () => {
  it.each([
    ["is too large", "/huge", "it sent more than 10 MB in one answer"],
    ["breaks off", "/cut", "its answer broke off"],
  ])("reports a response that %s, and fails its reader", async (_, path, problem) => {
    const problems: string[] = [];
    const response = await boundedFetch((found) => problems.push(found))(`${url}${path}`, { method: "POST" });
    await expect(response.text()).rejects.toThrow(problem);
    expect(problems).toEqual([problem]);
  });

  it("passes on a small response, and reports nothing when the reader cancels", async () => {
    const problems: string[] = [];
    const fetchIt = boundedFetch((found) => problems.push(found));
    expect(await (await fetchIt(`${url}/small`, { method: "POST" })).text()).toBe("small");
    const reader = (await fetchIt(`${url}/endless`, { method: "POST" })).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    const next = reader?.read();
    await reader?.cancel();
    expect((await next)?.done).toBe(true);
    expect(problems).toEqual([]);
  });

  it("opens no stream of the server's own messages, but goes on with one that was cut", async () => {
    const fetchIt = boundedFetch(() => undefined);
    expect((await fetchIt(`${url}/own`, { method: "GET" })).status).toBe(405);
    expect((await fetchIt(`${url}/cut-before`, { method: "GET", headers: { "last-event-id": "7" } })).status).toBe(200);
    expect(asked).not.toContain("GET /own");
    expect(asked).toContain("GET /cut-before");
  });

  it("takes nothing to another origin, and says where the server sends it", async () => {
    const headers = { "x-api-key": "secret" };
    const sent = boundedFetch(() => undefined)(`${url}/elsewhere`, { method: "POST", headers, body: "question" });
    await expect(sent).rejects.toThrow(/^it redirects to another origin, http:\/\/127\.0\.0\.1:\d+: /u);
    expect(strangerHeard).toEqual([]);
  });

  it("follows a redirect on the same origin with what it had to say", async () => {
    const response = await boundedFetch(() => undefined)(`${url}/moved`, { method: "POST", body: "question" });
    expect([response.status, await response.text()]).toEqual([200, "question"]);
  });

  it.each([
    ["would lose what it had to say", "/see", "it redirects with the status 303, which drops the request"],
    ["never ends", "/round", "it redirects more than 5 times"],
    ["leads nowhere", "/nowhere", "it redirects to what is no address"],
  ])("refuses a redirect that %s", async (_, path, problem) => {
    const sent = boundedFetch(() => undefined)(`${url}${path}`, { method: "POST", body: "question" });
    await expect(sent).rejects.toThrow(problem);
  });
});
