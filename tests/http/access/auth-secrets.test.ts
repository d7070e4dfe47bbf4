import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { openRulesServers, type RulesServers } from "../../support/rules-servers.ts";
import { textOf } from "../../support/processes/postgres.ts";
import type { TestServer } from "../../support/test-server.ts";

/** Ada's credentials, and the fields that her rules pass on to graphs. */
const secret = "secret-token-of-ada-5d1e";
const ada = { "x-user": "ada", authorization: `Bearer ${secret}` };
const rules = `.authenticate(({ headers }) => ({
  identity: headers.get("x-user"),
  display_name: "Ada",
  permissions: ["read"],
  token: headers.get("authorization")?.slice(7),
})).on("crons:create", () => undefined)`;
const lasting = { identity: "ada", display_name: "Ada", permissions: ["read"], is_authenticated: true };

const graphs = { caller: join(import.meta.dirname, "..", "..", "fixtures", "graphs", "caller.ts:graph") };
const everything = ["values", "updates", "messages", "debug", "events", "tasks", "checkpoints", "custom"];
/** Fields of the auth that a client may try to set, with a secret. */
const configurable = {
  own: 1,
  langgraph_auth_user: { identity: "admin", token: secret },
  langgraph_auth_extra: secret,
};

let servers: RulesServers;
let server: TestServer;
beforeAll(async () => {
  servers = await openRulesServers();
});
beforeEach(async () => {
  server = await servers.serve(rules, {}, { graphs });
});
afterAll(() => servers.remove());

const Id = z.looseObject({ thread_id: z.string() });
const CallerState = z.looseObject({
  received: z.object({ user: z.unknown(), keys: z.array(z.string()), token: z.number() }),
});

async function ask(method: string, path: string, body?: object): Promise<string> {
  const answer = await server.send(method, path, body, ada);
  expect(answer.status, path).toBeLessThan(300);
  return answer.text();
}

async function newThread(): Promise<string> {
  return Id.parse(JSON.parse(await ask("POST", "/threads", {}))).thread_id;
}

/** The files of the server's data, after it has stopped. */
async function kept(): Promise<string> {
  await server.close();
  const names = await readdir(server.config.dataDir, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  const texts = await Promise.all(files.map((file) => readFile(file, "latin1")));
  const { database } = server.config;
  if (database !== undefined) texts.push(await textOf(database));
  expect(texts.length).toBeGreaterThan(0);
  return texts.join("\n");
}

describe("fields of a user beyond the identity", () => {
  it("are passed to the graph of a run, and neither stored nor sent to clients", async () => {
    const thread = await newThread();
    const body = { assistant_id: "caller", input: {}, config: { configurable }, stream_mode: everything };
    const answers = [await ask("POST", `/threads/${thread}/runs/stream`, { ...body, stream_resumable: true })];
    const { values } = JSON.parse(await ask("GET", `/threads/${thread}/state`)) as { values: unknown };
    expect(CallerState.parse(values).received).toEqual({
      user: lasting,
      keys: ["langgraph_auth_user", "langgraph_auth_user_id", "langgraph_auth_permissions"],
      token: secret.length,
    });
    const resume = { assistant_id: "caller", command: { resume: "yes" } };
    answers.push(await ask("POST", `/threads/${thread}/runs/wait`, resume));
    for (const path of ["", "/runs", "/state", "/history"]) answers.push(await ask("GET", `/threads/${thread}${path}`));
    expect(JSON.parse(answers[3] ?? "")).toMatchObject([{}, { kwargs: { config: { configurable: { own: 1 } } } }]);
    expect(answers.filter((text) => text.includes(secret))).toEqual([]);
    const files = await kept();
    expect(files).toContain("langgraph_auth_user_id");
    expect(files).not.toContain(secret);
  });

  it("are lost in a restart, while the identity is kept", async () => {
    const thread = await newThread();
    const run = await ask("POST", `/threads/${thread}/runs`, { assistant_id: "caller", input: {}, after_seconds: 1 });
    const { run_id } = z.looseObject({ run_id: z.string() }).parse(JSON.parse(run));
    expect(await kept()).not.toContain(secret);
    server = await server.restart();
    await ask("GET", `/threads/${thread}/runs/${run_id}/join`);
    const { values } = JSON.parse(await ask("GET", `/threads/${thread}/state`)) as { values: unknown };
    expect(CallerState.parse(values).received).toMatchObject({ user: lasting, token: 0 });
    await server.close();
  });

  it("are stored neither with a cron nor in the configuration of a thread", async () => {
    const thread = await newThread();
    const cron = { assistant_id: "caller", schedule: "0 0 1 1 *", input: {}, config: { configurable } };
    const made = await ask("POST", `/threads/${thread}/runs/crons`, cron);
    expect(JSON.parse(made)).toMatchObject({
      payload: { config: { configurable: { own: 1, langgraph_auth_user: lasting, langgraph_auth_user_id: "ada" } } },
    });
    await ask("POST", `/threads/${thread}/runs/wait`, { assistant_id: "caller", input: {}, config: { configurable } });
    const { config } = JSON.parse(await ask("GET", `/threads/${thread}`)) as { config: unknown };
    expect(config).toEqual({ configurable: { own: 1 } });
    expect(await kept()).not.toContain(secret);
  });
});
