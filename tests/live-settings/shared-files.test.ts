import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { startPostgres } from "../support/processes/postgres.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";

const postgres = await startPostgres();
afterAll(() => postgres?.stop());

describe.skipIf(postgres === undefined)("settings and prompts of servers on one database", () => {
  it("are changed at one, take effect at the others and at one that comes later, and go back", async () => {
    const database = (await postgres?.create()) ?? "";
    const servers: TestServer[] = [];
    const start = async (): Promise<TestServer> => {
      const server = await startTestServer({ database, leaseSeconds: 60 });
      servers.push(server);
      return server;
    };
    const body = async (server: TestServer, path: string): Promise<unknown> =>
      await (await server.send("GET", path)).json();
    const content = "Name the chat of {user} and {assistant}.";
    try {
      const [one, other] = [await start(), await start()];
      const usual = await body(one, "/prompts/conversation_title");
      expect((await one.send("PUT", "/prompts/conversation_title", { content })).status).toBe(200);
      await expect.poll(() => body(other, "/prompts/conversation_title")).toMatchObject({ content });
      expect((await other.send("PATCH", "/settings", { MILLRACE_TOOL_RATE: 51 })).status).toBe(200);
      const changed = async (server: TestServer) =>
        JSON.stringify(await body(server, "/settings")).includes('"value":51');
      await expect.poll(() => changed(one)).toBe(true);
      const third = await start();
      expect([await body(third, "/prompts/conversation_title"), await changed(third)]).toMatchObject([
        { content },
        true,
      ]);
      // A file that was changed by hand is one as well.
      const file = (server: TestServer): string => join(server.config.dataDir, "prompts", "conversation_title.txt");
      writeFileSync(file(third), `${content} Be short.`);
      await expect.poll(() => readFileSync(file(one), "utf8")).toBe(`${content} Be short.`);
      await one.send("DELETE", "/prompts/conversation_title");
      await expect.poll(() => body(third, "/prompts/conversation_title")).toEqual(usual);
    } finally {
      for (const server of servers) await server.remove();
    }
  });

  it("are changed at one after the other, each time from what the last one has left", async () => {
    const database = (await postgres?.create()) ?? "";
    const [one, other] = [
      await startTestServer({ database, leaseSeconds: 60 }),
      await startTestServer({ database, leaseSeconds: 60 }),
    ];
    const change = async (server: TestServer, changes: Record<string, number | null>): Promise<number> =>
      (await server.send("PATCH", "/settings", changes)).status;
    const changed = async (server: TestServer): Promise<string[]> => {
      const text = await (await server.send("GET", "/settings")).text();
      return [...text.matchAll(/"name":"(\w+)","value":\d+,"source":"changed"/gu)].map(([, name = ""]) => name);
    };
    try {
      expect(await change(one, { MILLRACE_TOOL_RATE: 51 })).toBe(200);
      expect(await change(other, { MILLRACE_TOOL_RATE: null, MILLRACE_MODEL_RATE: 3 })).toBe(200);
      expect(await change(one, { MILLRACE_MODEL_REQUESTS: 4 })).toBe(200);
      const left = ["MILLRACE_MODEL_RATE", "MILLRACE_MODEL_REQUESTS"];
      for (const server of [one, other])
        await expect.poll(async () => (await changed(server)).toSorted()).toEqual(left);
    } finally {
      await one.remove();
      await other.remove();
    }
  });
});
