import { rm } from "node:fs/promises";
import { afterEach, expect, it } from "vitest";
import { answerEarly, openHealth } from "@millrace/engine/process/health";
import { startTestServer, type TestServer } from "../../support/test-server.ts";

let server: TestServer | undefined;
afterEach(async () => {
  await server?.remove();
  server = undefined;
});

const keyed = { apiKeys: [{ owner: "ada", key: "a-long-secret" }] };

it("describes itself to programs, and redirects browsers to the page for people, without a key", async () => {
  server = await startTestServer({ ...keyed, console: true });
  const asked = await server.send("GET", "/");
  expect(asked.status).toBe(200);
  expect(await asked.json()).toMatchObject({
    name: "millrace",
    version: expect.stringMatching(/^\d+\.\d+\.\d+/u),
    docs: "/docs",
    openapi: "/openapi.json",
    console: "/console/",
  });
  const browser = { accept: "text/html,application/xhtml+xml" };
  const led = await fetch(server.url, { headers: browser, redirect: "manual" });
  expect([led.status, led.headers.get("location")]).toEqual([302, "/console/"]);
  await server.close();
  server = await server.restart({ console: false });
  expect(await (await server.send("GET", "/")).json()).toMatchObject({ console: null });
  const without = await fetch(server.url, { headers: browser, redirect: "manual" });
  expect(without.headers.get("location")).toBe("/docs");
});

it("is live and ready without a key, also while it answers no other request", async () => {
  server = await startTestServer({ ...keyed, maxRequests: 0 });
  for (const status of ["live", "ready"]) {
    const answer = await server.send("GET", `/health/${status}`);
    expect([answer.status, await answer.json()]).toEqual([200, { status }]);
  }
  expect((await server.send("GET", "/info")).status).toBe(429);
});

it("is live and not ready if its folder is gone", async () => {
  server = await startTestServer();
  await rm(server.config.workspace, { recursive: true });
  const answer = await server.send("GET", "/health/ready");
  expect(answer.status).toBe(503);
  expect(answer.headers.get("retry-after")).toBe("1");
  expect(await answer.json()).toEqual({
    status: "not_ready",
    reasons: [expect.stringMatching(/^The folder .* cannot be written: ENOENT/u)],
  });
  expect((await server.send("GET", "/health/live")).status).toBe(200);
});

it("names each reason, queries the database once for concurrent requests, and reports a shutdown", async () => {
  let asked = 0;
  const refused = async (): Promise<void> => {
    asked += 1;
    throw new Error("database or disk is full");
  };
  const problems = [{ graph_id: "agent" }];
  const health = openHealth({ graphs: 0, problems, probe: refused, leaseProblem: () => "no lease", folders: [] });
  const [first, second] = await Promise.all([health.reasons(), health.reasons()]);
  expect(first).toEqual([
    "No graph is served: agent; see graph_not_served in the log.",
    "The database takes no write: database or disk is full",
    "no lease",
  ]);
  expect(second).toEqual(first);
  expect(asked).toBe(1);
  health.stopping();
  expect(await health.reasons()).toEqual(["The server is stopping."]);
});

it("is live and not ready while it starts", async () => {
  expect(answerEarly("/health/live")?.status).toBe(200);
  expect(answerEarly("/health/ready")?.status).toBe(503);
  expect(answerEarly("/threads")).toBe(undefined);
});
