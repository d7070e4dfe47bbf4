import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isAppError } from "@millrace/engine/errors/errors";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** The fields of an answer that these tests read. */
interface Listed {
  name: string;
  title: string;
  is_enabled: boolean;
  is_always: boolean;
  tools: string[];
}

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({ toolkits: ["files"] });
});
afterAll(() => server.remove());

describe("the toolkits of a server", () => {
  it("are listed with their parts, and whether they are enabled", async () => {
    const listed = (await (await server.send("GET", "/toolkits")).json()) as Listed[];
    const byName = new Map(listed.map((one) => [one.name, one]));
    expect(byName.get("files")).toMatchObject({ title: "Files", is_enabled: true, is_always: false });
    expect(byName.get("files")?.tools).toContain("read_file");
    expect(byName.get("conversation")).toMatchObject({ is_enabled: true, is_always: true });
    expect(byName.get("documents")).toMatchObject({ is_enabled: false, identity: "document", collectors: [] });
    const chinese = await server.send("GET", "/toolkits", undefined, { "accept-language": "zh" });
    expect(((await chinese.json()) as Listed[]).find(({ name }) => name === "files")?.title).toBe("文件");
  });

  it("determine the tools, and each tool names its toolkit", async () => {
    const listed = (await (await server.send("GET", "/tools")).json()) as { name: string; toolkit: string | null }[];
    expect(new Set(listed.map(({ toolkit }) => toolkit))).toEqual(new Set(["files", "conversation"]));
    expect(listed.find(({ name }) => name === "read_file")?.toolkit).toBe("files");
  });

  it("determine the tools that can be run by hand", async () => {
    const thread = (await server.client.threads.create()).thread_id;
    const answer = await server.send("POST", `/threads/${thread}/tools/web_fetch/run`, {
      args: { url: "https://example.com" },
    });
    expect(answer.status).toBe(404);
  });

  it("are checked when the server starts", async () => {
    const error: unknown = await startTestServer({ toolkits: ["flying"] }).catch((reason: unknown) => reason);
    expect(isAppError(error) && error).toMatchObject({ code: "config", message: expect.stringContaining("flying") });
  });
});
