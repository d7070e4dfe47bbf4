import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

const Asked = z.object({ approved_hash: z.string() });
const Operations = z.object({ operations: z.array(z.looseObject({ operation_id: z.string(), path: z.string() })) });

let server: TestServer;
let thread: string;
let operation: string;

const get = (path: string) => server.send("GET", `/threads/${thread}/operations/${operation}${path}`);

beforeAll(async () => {
  server = await startTestServer({ graphs: join(projectFolder, "langgraph.json") });
  const folder = join(server.config.workspace, "plans");
  await mkdir(join(folder, "old"), { recursive: true });
  await writeFile(join(folder, "new.md"), "what is new\n");
  await writeFile(join(folder, "old/first.md"), "what is old\n");
  thread = (await server.client.threads.create()).thread_id;
  const input = { messages: [{ role: "user", content: "hello" }] };
  await server.client.runs.wait(thread, "agent", { input });
  const remove = (more: object) =>
    server.send("POST", `/threads/${thread}/tools/delete_file/run`, { args: { path: "plans" }, ...more });
  const { approved_hash } = Asked.parse(await (await remove({})).json());
  await remove({ approved_hash });
  const list = await server.send("GET", `/threads/${thread}/operations`);
  operation = Operations.parse(await list.json()).operations[0]?.operation_id ?? "";
});
afterAll(() => server.remove());

describe("a folder that a tool deleted", () => {
  it("is listed with all its content", async () => {
    expect(await (await get("/entries")).json()).toEqual([
      { path: "new.md", kind: "file", size: 12 },
      { path: "old", kind: "folder", size: null },
      { path: "old/first.md", kind: "file", size: 12 },
    ]);
  });

  it("has the content of each of its files", async () => {
    const answer = await get("/content?file=old/first.md");
    expect(answer.headers.get("content-disposition")).toContain("first.md");
    expect(await answer.text()).toBe("what is old\n");
  });

  it.each(["/entries?side=after", "/content", "/content?file=old", "/content?file=new.txt", "/content?file=../a"])(
    "is 404 at %s",
    async (path) => {
      expect((await get(path)).status).toBe(404);
    },
  );
});
