import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startModelServer, type ModelServer } from "@millrace/testing/model-server";
import { projectFolder } from "../../support/source-files.ts";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

/** A picture of one pixel. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);
const shownUrl = `data:image/png;base64,${png.toString("base64")}`;
const Upload = z.object({
  path: z.string(),
  name: z.string(),
  size: z.number(),
  type: z.string(),
  mime_type: z.string(),
});

let model: ModelServer;
let server: TestServer;
beforeAll(async () => {
  model = await startModelServer({ handler: () => ({ text: "I see." }) });
  server = await startTestServer({
    graphs: join(projectFolder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
    apiKeys: ["guest", "admin"].map((owner) => ({ owner, key: `key-of-${owner}` })),
    ownerTools: { guest: ["list_files"] },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
});
beforeEach(async () => {
  await server.send("DELETE", "/models/openai:scripted", undefined, { "x-api-key": "key-of-admin" });
});

/** Sends bytes like a client other than a browser. */
function upload(name: string, bytes: Uint8Array, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${server.url}/files/uploads?name=${encodeURIComponent(name)}`, {
    method: "POST",
    body: bytes,
    headers: { "content-type": "application/octet-stream", "x-api-key": "key-of-admin", ...headers },
  });
}

/** Sends a message with attachments; returns what the model received, as texts. */
async function ask(attachments: object[], thread?: string): Promise<string> {
  const headers = { "x-api-key": "key-of-admin" };
  const created = await server.send("POST", "/threads", {}, headers);
  const thread_id = thread ?? z.object({ thread_id: z.string() }).parse(await created.json()).thread_id;
  const message = { type: "human", content: "What is this?", additional_kwargs: { attachments } };
  const body = { assistant_id: "agent", input: { messages: [message] } };
  const answer = await server.send("POST", `/threads/${thread_id}/runs/wait`, body, headers);
  expect([answer.status, await answer.json()]).toEqual([
    200,
    expect.not.objectContaining({ __error__: expect.anything() }),
  ]);
  return JSON.stringify(model.requests.findLast(({ messages }) => messages.length > 1)?.messages);
}

const see = (): Promise<Response> =>
  server.send("POST", "/models", { name: "openai:scripted", vision: true }, { "x-api-key": "key-of-admin" });

describe("an uploaded file", () => {
  it("is stored in the workspace unchanged, and its path can be attached", async () => {
    const first = Upload.parse(await (await upload("a/b/point.png", png)).json());
    expect(first).toEqual({
      path: "uploads/point.png",
      name: "point.png",
      size: png.length,
      type: "image",
      mime_type: "image/png",
    });
    expect(await readFile(join(server.config.workspace, first.path))).toEqual(png);
    const second = Upload.parse(await (await upload("point.png", new Uint8Array([0, 255]))).json());
    // A file with the type of a picture only is stored as a file, and existing files stay.
    expect(second).toMatchObject({ path: "uploads/point-2.png", type: "file", mime_type: "" });
    expect(await readFile(join(server.config.workspace, first.path))).toEqual(png);
  });

  it.each([
    ["../../out.txt", "uploads/out.txt"],
    ["..\\up.txt", "uploads/up.txt"],
    [".env", "uploads/env"],
    ["图片 1.txt", "uploads/图片 1.txt"],
    ["/", "uploads/file"],
  ])("stays in its folder with any name: %s", async (name, path) => {
    expect(Upload.parse(await (await upload(name, png)).json()).path).toBe(path);
  });

  it("is refused without the right to create files, and without bytes", async () => {
    expect((await upload("a.txt", png, { "x-api-key": "key-of-guest" })).status).toBe(403);
    expect((await upload("a.txt", png, { "content-type": "image/png" })).status).toBe(415);
    const elsewhere = await fetch(`${server.url}/threads`, {
      method: "POST",
      body: png,
      headers: { "content-type": "application/octet-stream", "x-api-key": "key-of-admin" },
    });
    expect(elsewhere.status).toBe(415);
    expect((await upload("big.bin", new Uint8Array(20 * 1024 * 1024 + 1))).status).toBe(413);
  });
});

describe("an attached picture", () => {
  const attached = { type: "image", path: "uploads/seen.png", name: "seen.png" };
  beforeAll(async () => {
    await upload("seen.png", png);
    await writeFile(join(server.config.workspace, "fake.png"), "no picture");
  });

  it("is part of the message for a model with vision, also in the next turns", async () => {
    await see();
    const thread = z
      .object({ thread_id: z.string() })
      .parse(await (await server.send("POST", "/threads", {}, { "x-api-key": "key-of-admin" })).json()).thread_id;
    expect(await ask([attached], thread)).toContain(shownUrl);
    expect((await ask([], thread)).split(shownUrl)).toHaveLength(2);
  });

  it("is only named to a model without vision", async () => {
    const sent = await ask([attached]);
    expect(sent).not.toContain("image_url");
    expect(sent).toContain("seen.png");
  });

  it("is left out if it is no picture, is larger than 20 MB, or does not exist", async () => {
    await see();
    const large = join(server.config.workspace, "large.png");
    await writeFile(large, png);
    await truncate(large, 20 * 1024 * 1024 + 1);
    const sent = await ask([
      { ...attached, path: "fake.png" },
      { ...attached, path: "large.png" },
      { ...attached, path: "uploads/none.png" },
      { ...attached, path: "../out.png" },
    ]);
    expect(sent).not.toContain("image_url");
    expect(sent).toContain("uploads/none.png");
  });
});
