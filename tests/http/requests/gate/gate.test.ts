import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    corsOrigins: ["http://localhost:3000"],
    allowedHosts: ["millrace.test", "Chat.test:8443"],
  });
});
afterAll(() => server.remove());

interface Answer {
  status: number | undefined;
  headers: Record<string, string | string[] | undefined>;
  text: string;
}

/** `fetch` sets Host and Origin itself; this sends the given ones. */
function send(method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  return sendTo(server, method, path, headers);
}

async function sendTo(
  { url }: TestServer,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const sent = request(`${url}${path}`, { method, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (part: string) => (text += part));
    response.on("end", () => resolve({ status: response.statusCode, headers: response.headers, text }));
  });
  sent.on("error", reject);
  sent.end(method === "POST" ? "{}" : undefined);
  return promise;
}

describe("Host", () => {
  test.each([
    "localhost",
    "LOCALHOST:2024",
    "127.0.0.1:1",
    "[::1]:2024",
    "millrace.test",
    "chat.test:8443",
    "chat.test",
  ])("%s is a host of this server", async (host) => {
    expect((await send("GET", "/ok", { host })).status).toBe(200);
  });

  test.each(["evil.com", "evil.com:2024", "localhost.evil.com", "localhost.", "127.0.0.1.evil.com", "169.254.1.1"])(
    "%s is refused before any handler",
    async (host) => {
      const before = await server.client.threads.count();
      const { status, text } = await send("POST", "/threads", { host });
      expect(status).toBe(403);
      expect(text).toContain("MILLRACE_ALLOWED_HOSTS");
      expect(await server.client.threads.count()).toBe(before);
    },
  );
});

describe("Origin", () => {
  test.each([
    "http://evil.com",
    "null",
    "https://smith.langchain.com.evil.com",
    "http://localhost:9999",
    "http://localhost:3000@evil.com",
  ])("%s is refused before any handler", async (origin) => {
    const before = await server.client.threads.count();
    for (const type of ["application/json", "text/plain"]) {
      const { status, text, headers } = await send("POST", "/threads", { origin, "content-type": type });
      expect(status).toBe(403);
      expect(text).toContain("MILLRACE_CORS_ORIGINS");
      expect(headers).not.toHaveProperty("access-control-allow-origin");
    }
    expect((await send("GET", "/info", { origin })).status).toBe(403);
    expect((await send("OPTIONS", "/threads", { origin, "access-control-request-method": "POST" })).status).toBe(403);
    expect(await server.client.threads.count()).toBe(before);
  });

  test.each(["https://smith.langchain.com", "http://localhost:3000"])(
    "%s is allowed and may read the headers",
    async (origin) => {
      const { status, headers } = await send("POST", "/threads", { origin });
      expect(status).toBe(200);
      expect(headers["access-control-allow-origin"]).toBe(origin);
      expect(headers["access-control-expose-headers"]).toContain("Content-Location");
    },
  );

  test("our own pages are allowed", async () => {
    expect((await send("POST", "/threads", { origin: server.url })).status).toBe(200);
  });

  test("a preflight gets the requested methods and headers", async () => {
    const { status, headers } = await send("OPTIONS", "/threads", {
      origin: "https://smith.langchain.com",
      "access-control-request-method": "POST",
      "access-control-request-headers": "content-type,x-api-key",
      "access-control-request-private-network": "true",
    });
    expect(status).toBe(204);
    expect(headers["access-control-allow-headers"]).toBe("content-type,x-api-key");
    expect(headers["access-control-allow-methods"]).toContain("PATCH");
    expect(headers["access-control-allow-private-network"]).toBe("true");
  });

  test("an error can be read by an allowed page", async () => {
    const { status, headers } = await send("GET", "/nowhere", { origin: "http://localhost:3000" });
    expect(status).toBe(404);
    expect(headers["access-control-allow-origin"]).toBe("http://localhost:3000");
  });
});

describe("a server for development", () => {
  const lines: { msg: string; origin?: string; allowed_by?: string }[] = [];
  let local: TestServer;
  beforeAll(async () => {
    const stream = { write: (line: string) => void lines.push(JSON.parse(line)) };
    local = await startTestServer({ localPages: true }, pino({ level: "warn" }, stream));
  });
  afterAll(() => local.remove());

  test.each([
    "http://localhost:3000",
    "http://127.0.0.1:5173",
    "http://[::1]:8080",
    "https://localhost",
    "http://localhost",
  ])("accepts a page of %s", async (origin) => {
    const called = await sendTo(local, "POST", "/threads", { origin });
    expect(called.status).toBe(200);
    expect(called.headers["access-control-allow-origin"]).toBe(origin);
    const asked = await sendTo(local, "OPTIONS", "/threads", { origin, "access-control-request-method": "POST" });
    expect(asked.status).toBe(204);
    expect(called.headers).not.toHaveProperty("access-control-allow-credentials");
  });

  test("refuses every other page and name, and logs a page once with the setting that would allow it", async () => {
    const foreign = [
      "http://evil.com",
      "null",
      "http://localhost.evil.com:3000",
      "http://localhost:3000@evil.com",
      "http://127.0.0.1.evil.com",
      "http://127.0.0.1:3000/x",
      "file://localhost",
    ];
    for (const origin of [...foreign, ...foreign]) {
      expect((await sendTo(local, "GET", "/info", { origin })).status).toBe(403);
    }
    const rebound = await sendTo(local, "GET", "/info", { host: "evil.com:3000", origin: "http://localhost:3000" });
    expect(rebound.status).toBe(403);
    const refused = lines.filter(({ msg }) => msg === "origin_refused");
    expect(refused.map(({ origin }) => origin)).toEqual(foreign);
    expect(refused[0]?.allowed_by).toContain("MILLRACE_CORS_ORIGINS");
    expect(refused[0]?.allowed_by).toContain("http.cors");
  });

  test("limits the log lines for invented origins", async () => {
    for (let page = 0; page < 150; page += 1) {
      expect((await sendTo(local, "GET", "/info", { origin: `http://evil-${page}.com` })).status).toBe(403);
    }
    expect(lines.filter(({ msg }) => msg === "origin_refused").length).toBe(100);
  });

  test("is started by the dev commands", async () => {
    const { scripts } = JSON.parse(await readFile(new URL("../../../../package.json", import.meta.url), "utf8"));
    expect(scripts.dev).toContain("MILLRACE_LOCAL_PAGES=${MILLRACE_LOCAL_PAGES:-1}");
    expect(loadConfig({ MILLRACE_LOCAL_PAGES: "1" }).localPages).toBe(true);
    expect(loadConfig({}).localPages).toBe(false);
  });
});

describe("API keys", () => {
  let keyed: TestServer;
  beforeAll(async () => {
    keyed = await startTestServer({ apiKeys: loadConfig({ MILLRACE_API_KEYS: "first-key, ada:second-key" }).apiKeys });
  });
  afterAll(() => keyed.remove());

  test.each<Record<string, string>>([{ "x-api-key": "second-key" }, { authorization: "Bearer first-key" }])(
    "%j is accepted",
    async (headers) => {
      expect((await keyed.send("POST", "/threads", {}, headers)).status).toBe(200);
    },
  );

  test.each<Record<string, string>>([
    {},
    { "x-api-key": "first" },
    { "x-api-key": "" },
    { authorization: "Basic first-key" },
  ])("%j is 401", async (headers) => {
    const response = await keyed.send("POST", "/threads", {}, headers);
    expect(response.status).toBe(401);
    expect(await response.text()).toContain("API key");
  });

  test("health and descriptions need no key, and the client sends its key", async () => {
    expect((await keyed.send("GET", "/ok")).status).toBe(200);
    expect((await keyed.send("GET", "/info")).status).toBe(200);
    expect((await keyed.send("GET", "/docs/swagger-ui.css")).status).toBe(200);
    const description = await keyed.send("GET", "/openapi.json");
    expect(await description.json()).toMatchObject({ security: [{ ApiKey: [] }] });
    const open = await server.send("GET", "/openapi.json");
    expect(await open.json()).toMatchObject({ security: [{}, { ApiKey: [] }] });
    expect((await keyed.send("GET", "/docsx")).status).toBe(401);
    expect(await keyed.client.threads.create()).toMatchObject({ status: "idle" });
  });
});
