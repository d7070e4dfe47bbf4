import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, it } from "vitest";
import { eventsOf } from "@millrace/testing/read-events";
import { startSessions } from "../../../../tests/support/session-fixture.ts";
import { wireText } from "@millrace/testing/model-server";
import { startTestServer, type TestServer } from "../../../../tests/support/test-server.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.remove();
  server = undefined;
});

it("the files stream reports a circuit written by another program", async () => {
  server = await startTestServer({ watchFiles: "auto" });
  const stream = await server.send("GET", "/files/stream");
  expect(stream.headers.get("content-type")).toContain("text/event-stream");
  const events = eventsOf(stream);
  expect((await events.next()).value).toMatchObject({
    event: "file_watch",
    data: { type: "file_watch", status: "on", folders: 1, files: 0 },
  });
  await writeFile(join(server.config.workspace, "amp.cir"), "* amp\n");
  expect((await events.next()).value).toEqual({
    id: undefined,
    event: "file_changed",
    data: {
      type: "file_changed",
      path: "amp.cir",
      event_type: "created",
      is_directory: false,
      time: expect.stringMatching(/^20\d\d-/u),
    },
  });
  await events.return(undefined);
});

it.each([
  ["it is switched off", { watchFiles: "off" as const }, 409],
  ["there are no circuits to work on", { watchFiles: "auto" as const, toolkits: ["files"] }, 409],
  ["it is switched on all the same", { watchFiles: "on" as const, toolkits: ["files"] }, 200],
])("where %s the answer says so", async (_, changes, status) => {
  server = await startTestServer(changes);
  const answer = await server.send("GET", "/files/stream");
  expect(answer.status).toBe(status);
  if (status === 409) expect(await answer.text()).toContain("MILLRACE_WATCH_FILES=on");
  else await answer.body?.cancel();
});

it("the files stream is empty for an owner who may not list files", async () => {
  server = await startTestServer({
    watchFiles: "on",
    apiKeys: [
      { owner: "ada", key: "key-of-ada" },
      { owner: "guest", key: "key-of-guest" },
    ],
    ownerTools: { guest: ["planner"] },
  });
  const guest = await server.send("GET", "/files/stream", undefined, { "x-api-key": "key-of-guest" });
  expect([guest.status, await guest.text()]).toEqual([403, expect.stringContaining("list_files")]);
  const ada = await server.send("GET", "/files/stream", undefined, { "x-api-key": "key-of-ada" });
  expect(ada.status).toBe(200);
  await ada.body?.cancel();
});

it("a file just written by another program comes first among the files shown to the model (CTX-11)", async () => {
  const workspace = await mkdtemp(join(tmpdir(), "millrace-files-"));
  await writeFile(join(workspace, "amp.cir"), "Amplifier\nR7 a 0 1k\n");
  await writeFile(join(workspace, "a.lib"), "* R7 is small\n");
  const fixture = await startSessions({ watchFiles: "auto", workspace });
  try {
    const events = eventsOf(await fixture.server.send("GET", "/files/stream"));
    await events.next();
    await writeFile(join(workspace, "z.lib"), "* R7 is hot\n");
    expect((await events.next()).value).toMatchObject({ data: { path: "z.lib", event_type: "created" } });
    await events.return(undefined);
    const { thread_id } = await fixture.server.client.threads.create();
    fixture.model.push({ text: "Too hot." });
    const input = { messages: [{ role: "user", content: "how is R7" }] };
    const context = { mode: "free_work", document: { path: "amp.cir" } };
    await fixture.server.client.runs.wait(thread_id, "agent", { input, context });
    const [system] = fixture.model.requests.at(-1)?.messages ?? [];
    expect(wireText(system ?? { role: "none" })).toContain(
      "## Found in the workspace\n\nz.lib:1: * R7 is hot\na.lib:1: * R7 is small",
    );
  } finally {
    await fixture.close();
    await rm(workspace, { recursive: true });
  }
});
