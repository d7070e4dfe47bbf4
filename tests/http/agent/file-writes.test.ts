import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "offline",
    apiKeys: ["guest", "ann", "ben"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { guest: ["read_file"], ben: ["create_file"] },
    criticalFiles: ["plans/*.md"],
  });
  await symlink("/etc", join(server.config.workspace, "outside"));
  await mkdir(join(server.config.workspace, "folder"));
});
afterAll(() => server.remove());

const Written = z.looseObject({
  etag: z.string().nullable(),
  operation: z.looseObject({ operation_id: z.string() }).nullable(),
});
interface Sent {
  owner?: string;
  thread?: string;
  known?: string;
  body?: string;
}

const file = (path: string): string => join(server.config.workspace, path);
const textOf = (path: string): Promise<string | null> => readFile(file(path), "utf8").catch(() => null);

function send(method: string, path: string, { owner = "ann", thread, known, body }: Sent = {}): Promise<Response> {
  const query = new URLSearchParams({ path, ...(thread !== undefined && { thread_id: thread }) });
  const headers = { "x-api-key": `key-of-${owner}`, "content-type": "application/octet-stream" };
  return fetch(`${server.url}/files/content?${query.toString()}`, {
    method,
    headers: { ...headers, ...(known !== undefined && { "if-match": known }) },
    ...(body !== undefined && { body }),
  });
}
const tagOf = async (path: string): Promise<string> => (await send("GET", path)).headers.get("etag") ?? "";

async function threadOf(owner: string): Promise<string> {
  const made = await server.send("POST", "/threads", {}, { "x-api-key": `key-of-${owner}` });
  return z.looseObject({ thread_id: z.string() }).parse(await made.json()).thread_id;
}

it("a header marks a file that tools only change after approval, whatever path it is read by", async () => {
  await symlink(".env.local", file("link.txt"));
  const marked: Record<string, string | null> = {};
  for (const path of [".env.local", "link.txt", "sub/package-lock.json", "plans/May.MD", "plans/may.txt", "notes.md"]) {
    if (path !== "link.txt") await send("PUT", path, { body: "A=1" });
    marked[path] = (await send("GET", path)).headers.get("millrace-critical-file");
  }
  const yes = "true";
  expect(marked).toEqual({
    ".env.local": yes,
    "link.txt": yes,
    "sub/package-lock.json": yes,
    "plans/May.MD": yes,
    "plans/may.txt": null,
    "notes.md": null,
  });
});

describe("PUT /files/content", () => {
  it("creates a file with its folders, and replaces a file whose version is known", async () => {
    const made = await send("PUT", "new/deep/a.bin", { body: "one\0" });
    const { etag } = Written.parse(await made.clone().json());
    expect([made.status, made.headers.get("etag"), await textOf("new/deep/a.bin")]).toEqual([200, etag, "one\0"]);
    expect(await made.json()).toEqual({ path: "new/deep/a.bin", size: 4, etag, operation: null });
    expect(await tagOf("new/deep/a.bin")).toBe(etag);
    const again = await send("PUT", "new/deep/a.bin", { body: "two", known: `"other", ${etag ?? ""}` });
    expect([again.status, await textOf("new/deep/a.bin")]).toEqual([200, "two"]);
    const any = await send("PUT", "new/deep/a.bin", { body: "three", known: "*" });
    expect([any.status, await textOf("new/deep/a.bin")]).toEqual([200, "three"]);
  });

  it("is 412 for a file that was changed, created or deleted since, and leaves it", async () => {
    await writeFile(file("b.md"), "first\n");
    const known = await tagOf("b.md");
    await writeFile(file("b.md"), "of another\n");
    const answers = [
      await send("PUT", "b.md", { body: "mine\n", known }),
      await send("PUT", "b.md", { body: "mine\n" }),
      await send("PUT", "gone.md", { body: "mine\n", known }),
      await send("DELETE", "b.md", { known }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([412, 412, 412, 412]);
    expect(await answers[0]?.text()).toContain(await tagOf("b.md"));
    expect([await textOf("b.md"), await textOf("gone.md")]).toEqual(["of another\n", null]);
  });

  it("accepts only the first of several concurrent writes", async () => {
    await writeFile(file("race.md"), "0");
    const known = await tagOf("race.md");
    const bodies = ["1", "2", "3", "4"];
    const all = await Promise.all(bodies.map((body) => send("PUT", "race.md", { body, known })));
    expect(all.filter(({ status }) => status === 412)).toHaveLength(3);
    expect(await textOf("race.md")).toBe(bodies[all.findIndex(({ status }) => status === 200)]);
  });

  it("records an operation of the given thread, which can be undone", async () => {
    const thread = await threadOf("ann");
    await writeFile(file("c.md"), "before\n");
    const put = await send("PUT", "c.md", { body: "after\n", known: await tagOf("c.md"), thread });
    const { operation } = Written.parse(await put.json());
    expect(operation).toMatchObject({ type: "modify", path: "c.md", lines_added: 1, lines_removed: 1, can_undo: true });
    const gone = await send("DELETE", "c.md", { known: "*", thread });
    expect(await gone.json()).toMatchObject({ size: null, etag: null, operation: { type: "delete" } });
    expect(await textOf("c.md")).toBeNull();
    const key = { "x-api-key": "key-of-ann" };
    const undone = await server.send("POST", `/threads/${thread}/operations/undo`, { path: "c.md" }, key);
    expect([undone.status, await textOf("c.md")]).toEqual([200, "before\n"]);
  });

  it.each([
    ["PUT", "folder", { known: "*" }, 400],
    ["PUT", "../out.md", {}, 403],
    ["PUT", "outside/x.md", {}, 403],
    ["PUT", ".millrace/x.md", {}, 403],
    ["PUT", "x.md", { owner: "guest" }, 403],
    ["PUT", "x.md", { owner: "ben", known: "*" }, 403],
    ["DELETE", "x.md", { owner: "ben", known: "*" }, 403],
    ["DELETE", "x.md", {}, 428],
    ["DELETE", "x.md", { known: "*" }, 412],
    ["DELETE", "folder", { known: "*" }, 400],
    ["PUT", "x.md", { thread: crypto.randomUUID() }, 404],
  ])("%s of %s with %j is %d", async (method, path, sent, status) => {
    const answer = await send(method, path, { body: "x", ...sent });
    expect([answer.status, await textOf("x.md")], await answer.text()).toEqual([status, null]);
  });

  it("refuses another owner's thread, and accepts owners who may only create files", async () => {
    const answer = await send("PUT", "mine.md", { body: "x", owner: "ben", thread: await threadOf("ann") });
    expect([answer.status, await textOf("mine.md")]).toEqual([404, null]);
    expect((await send("PUT", "mine.md", { body: "x", owner: "ben", thread: await threadOf("ben") })).status).toBe(200);
  });
});
