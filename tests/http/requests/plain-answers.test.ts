import { request, type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

interface Raw {
  headers: IncomingMessage["headers"];
  status: number | undefined;
  bytes: Buffer;
}

/** A request as it is sent: nothing is decompressed. */
function raw(
  url: string,
  options: { method?: string; body?: object; headers?: Record<string, string> } = {},
): Promise<Raw> {
  const { promise, resolve, reject } = Promise.withResolvers<Raw>();
  const { method = "GET", body, headers = {} } = options;
  const sent = request(url, { method, headers: { "content-type": "application/json", ...headers } }, (response) => {
    const parts: Buffer[] = [];
    response.on("data", (part: Buffer) => parts.push(part));
    response.on("end", () =>
      resolve({ headers: response.headers, status: response.statusCode, bytes: Buffer.concat(parts) }),
    );
  });
  sent.on("error", reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  return promise;
}

const gzip = { "accept-encoding": "br;q=1, gzip;q=0.8" };
const big = { assistant_id: "counter", input: { note: "x".repeat(10_000) }, metadata: { note: "y".repeat(10_000) } };

describe("answers", () => {
  it.each(["/openapi.json", "/tools", "/docs/swagger-ui.css"])("of %s are compressed on request", async (path) => {
    const plain = await raw(`${server.url}${path}`);
    expect(plain.headers["content-encoding"]).toBeUndefined();
    const packed = await raw(`${server.url}${path}`, { headers: gzip });
    expect(packed.headers).toMatchObject({ "content-encoding": "gzip" });
    expect(packed.headers["vary"]).toContain("Accept-Encoding");
    expect(packed.headers["content-type"]).toBe(plain.headers["content-type"]);
    expect(gunzipSync(packed.bytes).equals(plain.bytes)).toBe(true);
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
  });

  it.each(["identity", "br", "gzip;q=0", "deflate, *;q=0"])("are not compressed for %s", async (wanted) => {
    const { headers } = await raw(`${server.url}/openapi.json`, { headers: { "accept-encoding": wanted } });
    expect(headers["content-encoding"]).toBeUndefined();
  });

  it("are normal for a client that offers a protocol upgrade, whose body is read", async () => {
    const headers = { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAMAAABkAAQAAP__" };
    const { status, bytes } = await raw(`${server.url}/threads`, {
      method: "POST",
      body: { metadata: { a: 1 } },
      headers,
    });
    expect([status, JSON.parse(bytes.toString())]).toMatchObject([200, { metadata: { a: 1 } }]);
  });

  it.each([
    [3_500, undefined],
    [4_100, "gzip"],
  ])("are compressed from 4 KB on: with a text of %i characters as %s", async (length, encoding) => {
    const { thread_id } = await server.client.threads.create({ metadata: { note: "x".repeat(length) } });
    const { headers } = await raw(`${server.url}/threads/${thread_id}`, { headers: gzip });
    expect(headers["content-encoding"]).toBe(encoding);
  });

  it("are not compressed if they are short", async () => {
    const { headers, bytes } = await raw(`${server.url}/ok`, { headers: gzip });
    expect([headers["content-encoding"], bytes.toString()]).toEqual([undefined, '{"ok":true}']);
  });

  it("of waiting requests are compressed too, and events never", async () => {
    const waited = await raw(`${server.url}/runs/wait`, { method: "POST", body: big, headers: gzip });
    const streamed = await raw(`${server.url}/runs/stream`, { method: "POST", body: big, headers: gzip });
    expect(streamed.headers["content-encoding"]).toBeUndefined();
    expect(streamed.bytes.toString()).toContain("event: metadata");
    const text = waited.headers["content-encoding"] === "gzip" ? gunzipSync(waited.bytes) : waited.bytes;
    expect(JSON.parse(text.toString())).toBeTypeOf("object");
    expect(Number(waited.headers["content-length"])).toBe(waited.bytes.length);
  });

  it("keep the connection, so that the next request needs no new one", async () => {
    const { headers } = await raw(`${server.url}/openapi.json`, { headers: gzip });
    expect(headers["connection"]).toBe("keep-alive");
    // Longer than clients wait between two requests.
    expect(headers["keep-alive"]).toBe("timeout=65");
  });
});

describe("concurrent requests", () => {
  it("are refused beyond the limit with 429 and Retry-After, and accepted again when one has ended", async () => {
    const small = await startTestServer({ maxRequests: 2 });
    try {
      const thread = (await small.client.threads.create()).thread_id;
      const followed = [new AbortController(), new AbortController()];
      const follow = async ({ signal }: AbortController) =>
        (await fetch(`${small.url}/threads/${thread}/stream`, { signal })).status;
      expect(await Promise.all(followed.map(follow))).toEqual([200, 200]);
      const refused = await small.send("GET", "/threads/count", undefined, { accept: "application/json" });
      expect([refused.status, await refused.json()]).toMatchObject([
        429,
        { errorType: "rate_limit", recoverable: true },
      ]);
      expect(refused.headers.get("retry-after")).toBe("1");
      expect((await small.send("GET", "/ok")).status).toBe(200);
      followed[0]?.abort();
      await expect.poll(async () => (await small.send("GET", `/threads/${thread}`)).status).toBe(200);
    } finally {
      await small.remove();
    }
  });
});
