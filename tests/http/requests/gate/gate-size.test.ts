import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerProcess } from "../../../support/processes/server-process.ts";
import { openGate } from "../../../support/test-graphs.ts";
import { startTestServer, type TestServer } from "../../../support/test-server.ts";

const limit = 1024 * 1024;
/** The megabytes that a refused request may cost (S6 in reliability.md). */
const maxMemory = 20;

let server: TestServer;
let address: URL;
beforeAll(async () => {
  server = await startTestServer({ bodyLimit: limit, requestSeconds: 0.4 });
  address = new URL(server.url);
});
afterAll(() => server.remove());

function open(): Socket {
  return connect(Number(address.port), address.hostname);
}

const half: object = { duplex: "half" };

/** Everything received on this connection until the server ends it, also while we are still sending. */
function answerOn(socket: Socket): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let text = "";
  socket.setEncoding("utf8").on("data", (part: string) => (text += part));
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(text));
  return promise;
}

const start = (more: string): string =>
  `POST /threads HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}`;

describe("a request that is sent slowly", () => {
  test.each([
    ["never ends its headers", start("x-slow: 1\r\n")],
    ["never sends its body", start("content-length: 100\r\n\r\n")],
    ["never ends its body", start('content-length: 100\r\n\r\n{"metadata":')],
    ["never ends its chunks", start('transfer-encoding: chunked\r\n\r\nc\r\n{"metadata":\r\n')],
  ])("is ended with 408 when it %s", async (_, sent) => {
    const before = await server.client.threads.count();
    const socket = open();
    const answer = answerOn(socket);
    socket.write(sent);
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(await server.client.threads.count()).toBe(before);
  });

  test("does not time out a slow answer of another request", async () => {
    const gate = crypto.randomUUID();
    const run = { assistant_id: "gated", input: { gate }, stream_mode: ["values"] };
    const stream = await server.send("POST", "/runs/stream", run);
    const socket = open();
    const answer = answerOn(socket);
    socket.write(start("content-length: 100\r\n\r\n"));
    // By now the time limit of the run's own request has passed as well.
    expect(await answer).toMatch(/^HTTP\/1\.1 408 /);
    openGate(gate);
    expect(await stream.text()).toContain('"passed":true');
  });
});

describe("a list that is too long", () => {
  const record = (list: number[]): object => Object.fromEntries(list.map((item, index) => [`p${index}`, item]));
  const events = `/threads/${crypto.randomUUID()}/stream/events`;

  test.each<[string, string, (wrong: number[]) => object]>([
    ["ids of threads", "/threads/search", (ids) => ({ ids })],
    ["fields of threads", "/threads/search", (select) => ({ select })],
    ["paths in threads", "/threads/search", (list) => ({ extract: record(list) })],
    ["fields of assistants", "/assistants/search", (select) => ({ select })],
    ["fields of crons", "/runs/crons/search", (select) => ({ select })],
    ["states of a new thread", "/threads", (supersteps) => ({ supersteps })],
    ["channels", events, (channels) => ({ channels })],
    ["namespaces of events", events, (namespaces) => ({ channels: ["values"], namespaces })],
  ])("is refused without a check of each element: %s", async (_, path, bodyOf) => {
    const response = await server.send("POST", path, bodyOf(Array.from({ length: 20_000 }, () => 1)));
    const answer: unknown = await response.json();
    expect([response.status, answer]).toMatchObject([400, { error: { issues: [{ message: expect.any(String) }] } }]);
  });

  test("is refused although each element is valid, if each is compared with each row", async () => {
    const select = Array.from({ length: 1001 }, () => "thread_id");
    expect((await server.send("POST", "/threads/search", { select })).status).toBe(400);
    expect((await server.send("POST", "/threads/search", { select: select.slice(1) })).status).toBe(200);
  });

  test("is refused with a limited number of errors", async () => {
    const run_ids = Array.from({ length: 1000 }, () => 1);
    const response = await server.send("POST", "/runs/cancel", { thread_id: crypto.randomUUID(), run_ids });
    expect(response.status).toBe(400);
    const answer = (await response.json()) as { error: { issues: unknown[] } };
    expect(answer.error.issues).toHaveLength(100);
  });
});

describe("a request of an extreme size or shape", () => {
  let folder = "";
  let own: ServerProcess;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "millrace-size-"));
    await mkdir(join(folder, "workspace"));
    own = new ServerProcess(folder, join(folder, "workspace"));
    own.configure({ MILLRACE_BODY_LIMIT: String(limit) });
    await own.start();
    // The cost of any request of the largest size, paid once.
    for (let round = 0; round < 12; round += 1)
      await post(JSON.stringify({ metadata: { a: "x".repeat(limit - 100) } }));
  });
  afterAll(async () => {
    await own.stop();
    await rm(folder, { recursive: true, force: true });
  });

  function post(body: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: object = {}): Promise<Response> {
    return fetch(`${own.url}/threads`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
      // Node's fetch needs it for a streamed body, and its type does not have it.
      ...half,
    });
  }

  /** The peak memory of the server's process, in bytes. */
  async function highWater(): Promise<number> {
    const status = await readFile(`/proc/${own.pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  test("with 10,000 headers is refused before it is read", async () => {
    const before = await server.client.threads.count();
    const socket = open();
    const answer = answerOn(socket);
    const headers = Array.from({ length: 10_000 }, (_, index) => `x-${index}: 1\r\n`).join("");
    socket.write(start(`${headers}content-length: 2\r\n\r\n{}`));
    // The connection is closed while we still write, which may lose the answer.
    expect(["", "431"]).toContain((await answer).slice(9, 12));
    expect(await server.client.threads.count()).toBe(before);
  });

  const keys = (length: number): object =>
    Object.fromEntries(Array.from({ length }, (_, index) => [index.toString(36), 1]));

  test("with 100,000 keys is accepted", async () => {
    expect((await post(JSON.stringify({ metadata: keys(100_000) }))).status).toBe(200);
  });

  test("with more keys in one object is refused, at any depth", async () => {
    const metadata = { text: '{"a":1', list: [{ b: 1 }, keys(100_001)] };
    const response = await post(JSON.stringify({ metadata }));
    expect([response.status, await response.text()]).toEqual([
      400,
      "An object in the request body has more than 100000 keys",
    ]);
  });

  const bomb = gzipSync(Buffer.alloc(200 * limit, 32));
  const tooLong = `{"metadata":{"a":"${"x".repeat(40 * limit)}"}}`;
  test.skipIf(process.platform !== "linux").each<[string, () => Promise<Response>, number]>([
    ["a compression bomb", () => post(bomb, { "content-encoding": "gzip" }), 400],
    ["over the limit in chunks", () => post(new Blob([tooLong]).stream()), 413],
    ["over the limit with a length", () => post(tooLong), 413],
    ["200,000 levels deep", () => post("[".repeat(200_000)), 400],
  ])("%s is refused and takes little memory", async (_, send, status) => {
    const before = await highWater();
    const response = await send();
    expect([response.status, (await response.text()).length < 300]).toEqual([status, true]);
    expect(((await highWater()) - before) / limit).toBeLessThan(maxMemory);
  });
});
