import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "offline",
    apiKeys: ["guest", "ann", "ben"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { guest: ["list_files"], ben: ["read_file"] },
  });
  const { workspace } = server.config;
  await mkdir(join(workspace, "notes"));
  await writeFile(join(workspace, "notes/page.html"), "<script>alert(1)</script>");
  await symlink("/etc/hostname", join(workspace, "outside"));
});
afterAll(() => server.remove());

function read(path: string, { owner = "ann", ...headers }: Record<string, string> = {}): Promise<Response> {
  const wanted = `/files/content?path=${encodeURIComponent(path)}`;
  return server.send("GET", wanted, undefined, { "x-api-key": `key-of-${owner}`, ...headers });
}

describe("a folder of the workspace", () => {
  const list = (path: string, owner = "ann"): Promise<Response> =>
    server.send("GET", `/files${path}`, undefined, { "x-api-key": `key-of-${owner}` });

  it("is listed with folders first and links as links, without the program's own files", async () => {
    await mkdir(join(server.config.workspace, ".millrace"), { recursive: true });
    const whole = await list("");
    expect([whole.status, await whole.json()]).toEqual([
      200,
      {
        path: "",
        entries: [
          expect.objectContaining({ name: "notes", path: "notes", kind: "folder", size: null }),
          expect.objectContaining({ name: "outside", path: "outside", kind: "link", size: null }),
        ],
        more: 0,
      },
    ]);
    expect(await (await list("?path=notes", "guest")).json()).toMatchObject({
      path: "notes",
      entries: [{ name: "page.html", path: "notes/page.html", kind: "file", size: 25 }],
    });
  });

  it.each([
    ["?path=notes/page.html", "ann", 400],
    ["?path=nothing", "ann", 404],
    ["?path=../..", "ann", 403],
    ["?path=outside", "ann", 403],
    ["?path=.millrace", "ann", 403],
    ["", "ben", 403],
  ])("is not listed: %s for %s is %i", async (path, owner, status) => {
    expect((await list(path, owner)).status).toBe(status);
  });
});

describe("a file of the workspace", () => {
  it("is sent byte for byte, as a download and never as a page", async () => {
    const whole = await read("notes/page.html");
    expect(whole.status).toBe(200);
    expect(await whole.text()).toBe("<script>alert(1)</script>");
    expect(Object.fromEntries(whole.headers)).toMatchObject({
      "content-type": "application/octet-stream",
      "content-disposition": "attachment; filename*=UTF-8''page.html",
      "content-security-policy": "sandbox",
      "x-content-type-options": "nosniff",
    });
    const part = await read("notes/page.html", { range: "bytes=1-6" });
    expect([part.status, await part.text()]).toEqual([206, "script"]);
  });

  it.each([
    ["notes", {}, 400],
    ["notes/nothing.md", {}, 404],
    ["../package.json", {}, 403],
    ["outside", {}, 403],
    ["/etc/hostname", {}, 403],
    ["notes/page.html", { owner: "guest" }, 403],
    ["notes/page.html", { range: "bytes=1000-" }, 416],
  ])("is not sent: %s %j is %i", async (path, more, status) => {
    expect((await read(path, more)).status).toBe(status);
  });
});
