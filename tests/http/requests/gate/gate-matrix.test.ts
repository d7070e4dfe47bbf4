import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  contentTypes,
  foreignHosts,
  foreignOrigins,
  sendAs,
  statusForHost,
} from "../../../support/requests/foreign-requests.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";
import { describedRoutes, type DescribedRoute } from "../../../support/requests/described-routes.ts";

const id = "0192d1c4-7d5e-7000-8000-0000000000aa";
let server: TestServer;
let routes: DescribedRoute[];
beforeAll(async () => {
  server = await startTestServer();
  ({ routes } = await describedRoutes(server));
  // Routes beside the described ones.
  for (const path of ["/openapi.json", "/docs", "/docs/start.js"]) {
    routes.push({ method: "GET", path, parameters: [], body: undefined });
  }
  await server.client.threads.create({ threadId: id });
});
afterAll(() => server.remove());

function send(route: DescribedRoute, headers: Record<string, string>, base = server): Promise<number | undefined> {
  return sendAs(base.url, route, { id, headers });
}

/** All data of the server that a request could have changed. */
async function stateOf({ client }: TestServer): Promise<string> {
  const threads = await client.threads.search({ limit: 1000 });
  const runs = await Promise.all(threads.map((thread) => client.runs.list(thread.thread_id)));
  return JSON.stringify([threads, runs]);
}

describe("every route of /openapi.json", () => {
  test("is refused for a foreign Host, with any content type", async () => {
    const before = await stateOf(server);
    const passed: string[] = [];
    for (const route of routes) {
      for (const [index, host] of foreignHosts.entries()) {
        const type = contentTypes[index % contentTypes.length] ?? "";
        const status = await send(route, { host, ...(type !== "" && { "content-type": type }) });
        if (status !== statusForHost(host)) passed.push(`${route.method} ${route.path} for ${host}: ${status}`);
      }
    }
    expect(routes.length).toBeGreaterThan(35);
    expect(passed).toEqual([]);
    expect(await stateOf(server)).toBe(before);
  });

  test("is refused for a foreign Origin, with any content type", async () => {
    const before = await stateOf(server);
    const passed: string[] = [];
    for (const route of routes) {
      for (const [index, origin] of foreignOrigins.entries()) {
        const type = contentTypes[index % contentTypes.length] ?? "";
        const status = await send(route, { origin, ...(type !== "" && { "content-type": type }) });
        if (status !== 403) passed.push(`${route.method} ${route.path} for ${origin}: ${status}`);
      }
    }
    expect(passed).toEqual([]);
    expect(await stateOf(server)).toBe(before);
  });

  test("that changes something refuses the content types of forms", async () => {
    const passed: string[] = [];
    for (const route of routes.filter(({ method }) => method !== "GET")) {
      for (const type of ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/html"]) {
        const status = await send(route, { "content-type": type });
        if (status !== 415) passed.push(`${route.method} ${route.path} as ${type}: ${status}`);
      }
    }
    expect(passed).toEqual([]);
  });

  test("needs a key if there are keys, except health and descriptions", async () => {
    const keyed = await startTestServer({ apiKeys: [{ owner: "one", key: "the-key" }] });
    try {
      const open: string[] = [];
      for (const route of routes) {
        const refused: Record<string, string>[] = [
          {},
          { "x-api-key": "The-key" },
          { authorization: "Bearer the-key x" },
        ];
        for (const headers of refused) {
          const status = await send(route, headers, keyed);
          if (status !== 401) open.push(route.path);
        }
      }
      expect(new Set(open)).toEqual(
        new Set([
          "/",
          "/health/live",
          "/health/ready",
          "/metrics",
          "/ok",
          "/info",
          "/openapi.json",
          "/docs",
          "/docs/start.js",
          "/ui/{agent}/{basename}",
        ]),
      );
    } finally {
      await keyed.remove();
    }
  });
});
