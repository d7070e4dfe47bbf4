import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestServer, type TestServer } from "../../support/testing.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.remove());

describe("a change with If-Match", () => {
  it.each([
    ["a template", "/prompts/free_work"],
    ["an identity", "/identity?profile=general"],
  ])("replaces or resets the text that its writer knows, and no other: %s", async (_, path) => {
    const tagged = async (method: string, content?: string, ifMatch?: string) => {
      const body = content === undefined ? undefined : { content };
      const response = await server.send(method, path, body, ifMatch === undefined ? {} : { "If-Match": ifMatch });
      return { status: response.status, etag: response.headers.get("etag") ?? "", text: await response.text() };
    };
    const first = await tagged("GET");
    expect(JSON.parse(first.text)).toMatchObject({ etag: first.etag });
    const mine = await tagged("PUT", "Mine.", first.etag);
    expect(mine.status).toBe(200);
    expect(mine.etag).not.toBe(first.etag);
    expect((await tagged("GET")).etag).toBe(mine.etag);
    // Who knows only the first text has not seen the second one.
    const theirs = await tagged("PUT", "Theirs.", first.etag);
    expect([theirs.status, theirs.text]).toEqual([412, expect.stringContaining(mine.etag)]);
    expect((await tagged("DELETE", undefined, first.etag)).status).toBe(412);
    expect((await tagged("GET")).text).toContain("Mine.");
    expect((await tagged("PUT", "Whatever was there.", "*")).status).toBe(200);
    expect((await tagged("PUT", "Without a condition.")).status).toBe(200);
    const { etag } = await tagged("GET");
    expect(await tagged("DELETE", undefined, etag)).toMatchObject({ status: 200, etag: first.etag });
  });

  it("is refused where only a file was changed meanwhile, even to a text that cannot be used", async () => {
    const { headers } = await server.send("GET", "/prompts/closing_note");
    const known = { "If-Match": headers.get("etag") ?? "" };
    const folder = join(server.config.dataDir, "prompts");
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "closing_note.txt"), "Without the reason.");
    const saved = await server.send("PUT", "/prompts/closing_note", { content: "Why: {reason}" }, known);
    expect(saved.status).toBe(412);
  });
});
