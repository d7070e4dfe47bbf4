import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../../tests/support/source-files.ts";
import { startTestServer, type TestServer } from "../../../tests/support/test-server.ts";

const program = fileURLToPath(new URL("fake-server.ts", import.meta.url));

let folder: string;
let server: TestServer | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-mcp-routes-"));
});
afterEach(async () => {
  await server?.remove();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

const entry = (mode = "well") => ({ command: process.execPath, args: [program, join(folder, "log"), mode] });
const Answer = z.looseObject({
  state: z.string().optional(),
  tools: z.array(z.object({ name: z.string() })).optional(),
});

async function serve(owners: readonly string[], mcpServers: object = {}): Promise<TestServer> {
  await writeFile(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "offline",
    mcpFile: join(folder, "mcp.json"),
    apiKeys: owners.map((owner) => ({ owner, key: `key-of-${owner}` })),
  });
  return server;
}

async function send(method: string, path: string, { body, owner }: { body?: object; owner?: string } = {}) {
  const headers = owner === undefined ? undefined : { "x-api-key": `key-of-${owner}` };
  const response = await server?.send(method, `/mcp/servers${path}`, body, headers);
  const said = (await response?.text()) ?? "";
  return { status: response?.status, said, answer: Answer.parse(said.startsWith("{") ? JSON.parse(said) : {}) };
}

const admin = "admin";
const inFile = async (): Promise<string> => readFile(join(folder, "mcp.json"), "utf8");

it("lists, adds, connects, changes and removes servers, whose tools are there at once", async () => {
  const { url } = await serve([admin], { broken: {}, off: { ...entry(), enabled: false } });
  const toolNames = async (): Promise<string> =>
    (await fetch(`${url}/tools`, { headers: { "x-api-key": "key-of-admin" } })).text();
  const list = async (): Promise<unknown> => JSON.parse((await send("GET", "", { owner: admin })).said);
  expect(await list()).toMatchObject([
    { name: "broken", state: "off", is_enabled: true, problem: expect.stringContaining("command") },
    { name: "off", state: "off", is_enabled: false, problem: null },
  ]);
  const put = await send("PUT", "/fake", { body: entry(), owner: admin });
  expect([put.status, put.answer]).toMatchObject([200, { name: "fake", state: "connecting", tools: [] }]);
  expect(JSON.parse(await inFile())).toMatchObject({ mcpServers: { fake: entry(), broken: {} } });
  const { answer } = await send("POST", "/fake/reconnect", { owner: admin });
  expect(answer.state).toBe("connected");
  expect(answer.tools?.map(({ name }) => name)).toContain("fake__echo");
  expect(await toolNames()).toContain("fake__echo");
  // A program that ends is no failure of the request: it is the state, and the log says why.
  const runs = (id: number): boolean => {
    try {
      return process.kill(id, 0);
    } catch {
      return false;
    }
  };
  const starts = [...(await readFile(join(folder, "log"), "utf8")).matchAll(/^start (\d+)/gmu)];
  const pid = Number(starts.at(-1)?.[1]);
  expect(runs(pid)).toBe(true);
  await send("PUT", "/fake", { body: { ...entry(), command: join(folder, "none") }, owner: admin });
  // The one before is ended with that.
  await expect.poll(() => runs(pid)).toBe(false);
  expect((await send("POST", "/fake/reconnect", { owner: admin })).answer).toMatchObject({
    state: "down",
    reason: expect.stringContaining("cannot be started"),
    tools: [],
  });
  const { said } = await send("GET", "/fake/log", { owner: admin });
  const down = { what: "down", reason: expect.stringContaining("cannot be started") };
  // Once when it was changed, and once when it was to be connected anew.
  expect(JSON.parse(said)).toMatchObject([down, down]);
  expect(await toolNames()).not.toContain("fake__echo");
  expect((await send("DELETE", "/fake", { owner: admin })).status).toBe(204);
  expect([await inFile(), (await send("GET", "/fake/log", { owner: admin })).status]).toEqual([
    expect.not.stringContaining(`"fake":`),
    404,
  ]);
});

it("takes over what a person or another server writes into the file", async () => {
  const { client } = await serve([], {});
  const write = (mcpServers: object): Promise<void> =>
    writeFile(join(folder, "mcp.json"), JSON.stringify({ mcpServers }));
  const states = async (): Promise<string[]> => {
    const listed = z.array(z.object({ name: z.string(), state: z.string() }));
    return listed.parse(JSON.parse((await send("GET", "")).said)).map(({ name, state }) => `${name} ${state}`);
  };
  await write({ fake: entry(), broken: {} });
  await expect.poll(states).toEqual(["broken off", "fake connected"]);
  await write({ fake: { ...entry(), enabled: false } });
  expect(await states()).toEqual(["fake off"]);
  await write({ other: entry() });
  // Without a request for the list: by the next run.
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, "agent", { input: { messages: [{ role: "user", content: "Hello" }] } });
  await expect.poll(async () => await readFile(join(folder, "log"), "utf8")).toMatch(/^start \d+\n[^]*start \d+/u);
  expect(await states()).toEqual(["other connected"]);
  await writeFile(join(folder, "mcp.json"), "{");
  expect(await states()).toEqual(["other connected"]);
});

it("refuses what cannot be used, a file that is broken, and callers who do not administer", async () => {
  await serve([admin, "ann"], { off: { ...entry(), enabled: false } });
  const before = await inFile();
  const wrong: [string, object, string][] = [
    ["/a__b", entry(), "its name must be"],
    ["/fine", {}, "command"],
    ["/fine", { url: "http://a", headers: { a: "${ABSENT_HERE}" } }, "ABSENT_HERE is not set"],
  ];
  for (const [path, body, words] of wrong) {
    expect(await send("PUT", path, { body, owner: admin })).toMatchObject({
      status: 400,
      said: expect.stringContaining(words),
    });
  }
  const asAnn = [
    await send("GET", "", { owner: "ann" }),
    await send("GET", "/off/log", { owner: "ann" }),
    await send("PUT", "/fine", { body: entry(), owner: "ann" }),
    await send("DELETE", "/off", { owner: "ann" }),
    await send("POST", "/off/reconnect", { owner: "ann" }),
  ];
  expect(asAnn.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
  expect((await send("POST", "/off/reconnect", { owner: admin })).status).toBe(409);
  expect(await inFile()).toBe(before);
  await writeFile(join(folder, "mcp.json"), "{");
  expect((await send("PUT", "/fine", { body: entry(), owner: admin })).status).toBe(409);
  expect(await inFile()).toBe("{");
});

it("starts no program for a caller without a key; what starts none may be changed", async () => {
  await serve([], { known: entry() });
  expect((await send("PUT", "/new", { body: entry() })).status).toBe(403);
  expect((await send("PUT", "/known", { body: entry("other") })).status).toBe(403);
  expect((await send("PUT", "/known", { body: { ...entry(), enabled: false } })).status).toBe(200);
  expect((await send("PUT", "/far", { body: { url: "http://127.0.0.1:1/mcp" } })).status).toBe(200);
  expect(JSON.parse(await inFile())).toMatchObject({ mcpServers: { known: { enabled: false }, far: {} } });
});
