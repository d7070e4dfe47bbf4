import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { boundedFetch } from "../../../src/tools/mcp/bounded-fetch.ts";

let server: Server;
let url = "";
const asked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    if (request.url === "/huge") response.end(Buffer.alloc(11 * 1024 * 1024, "x"));
    else if (request.url === "/cut") {
      response.writeHead(200, { "content-length": "100" });
      response.write("only this", () => response.destroy());
    } else if (request.url === "/endless") response.write("first");
    else response.end("small");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens on a port has an address with one.
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
});

describe("fetch for an MCP server", () => {
  it.each([
    ["is too large", "/huge", "it sent more than 10 MB in one answer"],
    ["breaks off", "/cut", "its answer broke off"],
  ])("tells of an answer that %s, and fails its reader", async (_, path, problem) => {
    const told: string[] = [];
    const response = await boundedFetch((found) => told.push(found))(`${url}${path}`, { method: "POST" });
    await expect(response.text()).rejects.toThrow(problem);
    expect(told).toEqual([problem]);
  });

  it("hands on what is small, and says nothing of a reader that goes away", async () => {
    const told: string[] = [];
    const fetchIt = boundedFetch((found) => told.push(found));
    expect(await (await fetchIt(`${url}/small`, { method: "POST" })).text()).toBe("small");
    const reader = (await fetchIt(`${url}/endless`, { method: "POST" })).body?.getReader();
    expect((await reader?.read())?.done).toBe(false);
    const next = reader?.read();
    await reader?.cancel();
    expect((await next)?.done).toBe(true);
    expect(told).toEqual([]);
  });

  it("opens no stream of the server's own messages, but goes on with one that was cut", async () => {
    const fetchIt = boundedFetch(() => undefined);
    expect((await fetchIt(`${url}/own`, { method: "GET" })).status).toBe(405);
    expect((await fetchIt(`${url}/cut-before`, { method: "GET", headers: { "last-event-id": "7" } })).status).toBe(200);
    expect(asked).not.toContain("GET /own");
    expect(asked).toContain("GET /cut-before");
  });
});
