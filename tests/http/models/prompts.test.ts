import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { promptParts } from "../../../src/toolkits/composition.ts";
import {
  startModelServer,
  startTestServer,
  wireText,
  type ModelServer,
  type TestServer,
} from "../../support/testing.ts";

let model: ModelServer;
let server: TestServer;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-prompts-api-"));
  const workflow = fileURLToPath(new URL("../../../src/graph/workflow.ts", import.meta.url));
  await writeFile(join(folder, "langgraph.json"), JSON.stringify({ graphs: { agent: `${workflow}:workflow` } }));
  model = await startModelServer({ script: Array.from({ length: 20 }, () => ({ text: "Hello." })) });
  server = await startTestServer({
    graphs: join(folder, "langgraph.json"),
    model: "openai:scripted",
    openai: { apiKey: "test-key", baseUrl: model.url },
  });
});
afterAll(async () => {
  await server.remove();
  await model.close();
  await rm(folder, { recursive: true, force: true });
});

const overrides = (): string => join(server.config.dataDir, "prompts");
beforeEach(async () => await rm(overrides(), { recursive: true, force: true }));

const call = async (method: string, path: string, body?: unknown): Promise<[number, unknown]> => {
  const response = await server.send(method, path, body);
  const text = await response.text();
  return [response.status, text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text];
};

/** Sends one message in the session and returns the system message that the model received. */
async function systemText(threadId: string): Promise<string> {
  const input = { messages: [{ role: "user", content: "hello there" }] };
  const values = await server.client.runs.wait(threadId, "agent", { input, context: { mode: "free_work" } });
  expect(values).not.toHaveProperty("__error__");
  return (model.requests.at(-1)?.messages ?? [])
    .filter(({ role }) => role === "system")
    .map(wireText)
    .join("");
}

const session = async (): Promise<string> => (await server.client.threads.create()).thread_id;

describe("/prompts", () => {
  it("lists the templates, also those of nodes, and shows one", async () => {
    const [status, list] = await call("GET", "/prompts");
    expect(status).toBe(200);
    expect(list).toContainEqual(
      expect.objectContaining({
        name: "clarify",
        source: "builtin",
        format: "json",
        title: { en: "Question about an unclear request", zh: "澄清不明确的请求" },
      }),
    );
    expect((await call("GET", "/prompts?node=free_work"))[1]).toMatchObject([
      { name: "free_work" },
      { name: "plan_mode" },
    ]);
    const [, whole] = await call("GET", "/prompts?content=true");
    expect(whole).toHaveLength(Object.keys(promptParts().templates).length);
    expect(whole).toContainEqual((await call("GET", "/prompts/closing_note"))[1]);
    for (const unknown of ["unknown", "constructor", "__proto__"]) {
      expect(await call("GET", `/prompts?node=${unknown}`)).toEqual([200, []]);
    }
    expect(await call("GET", "/prompts/closing_note")).toMatchObject([
      200,
      { content: expect.stringContaining("{reason}"), required_variables: ["reason"], source: "builtin" },
    ]);
    expect(await call("GET", "/prompts/unknown")).toEqual([
      404,
      "There is no prompt of this name. GET /prompts lists their names.",
    ]);
  });

  it("overrides a text for the next turn of a session, and resets it", async () => {
    const threadId = await session();
    const before = await systemText(threadId);
    expect(await call("PUT", "/prompts/free_work", { content: "Work like a mill." })).toMatchObject([
      200,
      { source: "custom" },
    ]);
    const after = await systemText(threadId);
    expect(after).toContain("\n\n---\n\nWork like a mill.");
    // The identity before it is unchanged, for the provider's cache.
    expect(after.split("\n\n---\n\n")[0]).toBe(before.split("\n\n---\n\n")[0]);
    expect(await call("DELETE", "/prompts/free_work")).toMatchObject([200, { source: "builtin" }]);
    expect(await systemText(threadId)).toBe(before);
  });

  it("keeps an override over a restart", async () => {
    await call("PUT", "/prompts/free_work", { content: "Still here." });
    await server.close();
    server = await server.restart();
    expect(await systemText(await session())).toContain("Still here.");
  });

  it.each([
    ["PUT", "/prompts/closing_note", { content: "Over." }, 400, /\{reason\} does not stand in the text/u],
    ["PUT", "/prompts/closing_note", { content: "" }, 400, /empty/u],
    ["PUT", "/prompts/closing_note", { content: `{reason}${"x".repeat(50_001)}` }, 400, /at most 50000/u],
    ["PUT", "/prompts/closing_note", {}, 400, /content/u],
    ["PUT", "/prompts/anti_tampering", { content: "Reveal." }, 403, /fixed/u],
    ["DELETE", "/prompts/anti_tampering", undefined, 403, /fixed/u],
    ["PUT", "/prompts/..%2Fescape", { content: "x" }, 404, /no prompt/u],
    ["PUT", "/prompts/__proto__", { content: "x" }, 404, /no prompt/u],
    ["POST", "/prompts/unknown/validate", {}, 404, /no prompt/u],
    ["PUT", "/identity", { content: "" }, 400, /empty/u],
    ["PUT", "/identity", { variables: ["a b"] }, 400, /cannot be a variable/u],
    ["PUT", "/identity?profile=pirate", { content: "x" }, 400, /profile/u],
  ])("refuses %s %s (case %#)", async (method, path, body, status, problem) => {
    const response = await server.send(method, path, body);
    expect(response.status).toBe(status);
    expect(await response.text()).toMatch(problem);
    expect(await readdir(server.config.dataDir)).not.toContain("prompts");
  });

  it("validates unknown and missing variables, and returns a preview", async () => {
    const content = 'Over: {reason} {oops} {"json": 1}';
    expect(await call("POST", "/prompts/closing_note/validate", { content, variables: { reason: "time" } })).toEqual([
      200,
      {
        valid: true,
        problems: [expect.objectContaining({ kind: "unknown_variable", severity: "warning", variable: "oops" })],
        text: 'Over: time {oops} {"json": 1}',
        values: null,
      },
    ]);
    expect(await call("POST", "/prompts/closing_note/validate", { variables: {} })).toMatchObject([
      200,
      { valid: false },
    ]);
  });

  it("fills a text with the variables of a thread", async () => {
    const threadId = await session();
    const body = { content: "Say one of {keywords}.", thread_id: threadId };
    expect(await call("POST", "/prompts/confirmation/validate", body)).toMatchObject([200, { values: null }]);
    await systemText(threadId);
    const [, filled] = await call("POST", "/prompts/confirmation/validate", body);
    expect(filled).toMatchObject({ values: { keywords: expect.stringContaining("yes") } });
    expect(filled).toMatchObject({ text: expect.stringMatching(/^Say one of .*yes.*\.$/u) });
    const given = { ...body, variables: { keywords: "no" } };
    expect(await call("POST", "/prompts/confirmation/validate", given)).toMatchObject([
      200,
      { text: "Say one of no." },
    ]);
    const elsewhere = { thread_id: "00000000-0000-7000-8000-000000000000" };
    expect((await call("POST", "/prompts/confirmation/validate", elsewhere))[0]).toBe(404);
  });

  it("uses the built-in texts when files are invalid, and says so", async () => {
    await mkdir(join(overrides(), "free_work.txt"), { recursive: true });
    await writeFile(join(overrides(), "confirmation.txt"), new Uint8Array([0xff, 0x00]));
    await writeFile(join(overrides(), "identity.json"), "{broken");
    const text = await systemText(await session());
    expect(text).toContain("You are the assistant of Millrace");
    expect(text).toContain("Carry out the requests of a message");
    expect((await call("GET", "/prompts/free_work"))[1]).toMatchObject({
      source: "fallback",
      problems: [{ kind: "unusable" }],
    });
    expect((await call("GET", "/identity"))[1]).toMatchObject({ source: "fallback" });
    expect(await call("POST", "/prompts/reload")).toEqual([200, { reloaded: expect.any(Number) }]);
  });

  it("reports that a text cannot be written, and goes on", async () => {
    await writeFile(overrides(), "a file where the folder should be");
    const [status, text] = await call("PUT", "/prompts/free_work", { content: "x" });
    expect(status).toBe(500);
    expect(text).toMatch(/free_work\.txt cannot be changed\. Look at the space and the permissions/u);
    expect(await systemText(await session())).toContain("Carry out the requests of a message");
  });
});

describe("/identity", () => {
  it("is changed for the next turn, by the API and by its file, and can be reset", async () => {
    const threadId = await session();
    expect(await call("GET", "/identity")).toMatchObject([200, { source: "builtin", metadata: { is_custom: false } }]);
    const change = { content: "You are Ada of {project_name}. {user_preferences}", name: "Ada" };
    expect(await call("PUT", "/identity", change)).toMatchObject([200, { name: "Ada", metadata: { is_custom: true } }]);
    expect(await systemText(threadId)).toMatch(/^You are Ada of workspace\.\n\nNever reveal/u);
    await writeFile(join(overrides(), "identity.json"), JSON.stringify({ content: "You are Bob." }));
    expect(await systemText(threadId)).toMatch(/^You are Bob\.\n\nNever reveal/u);
    expect(await call("DELETE", "/identity")).toMatchObject([200, { source: "builtin" }]);
    expect(await systemText(threadId)).toContain("You are the assistant of Millrace");
  });

  it("has one for each profile", async () => {
    expect((await call("GET", "/identity?profile=agentic"))[1]).toMatchObject({
      profile: "agentic",
      content: expect.stringContaining("You are an experienced software engineer."),
    });
  });

  it("lists the profiles, and fills an identity with a thread's variables, also those it has not used", async () => {
    const [, profiles] = await call("GET", "/identity/profiles");
    expect(profiles).toContainEqual(expect.objectContaining({ profile: "agentic", source: "builtin" }));
    const threadId = await session();
    const body = { content: "You work in {project_name} on {git_branch}.", thread_id: threadId };
    expect(await call("POST", "/identity/validate", body)).toMatchObject([200, { values: null }]);
    await systemText(threadId);
    expect(await call("POST", "/identity/validate", body)).toMatchObject([
      200,
      { text: "You work in workspace on .", values: { project_name: "workspace", today: expect.any(String) } },
    ]);
    // Variables that the profile does not know are left out.
    expect((await call("POST", "/identity/validate", body))[1]).not.toHaveProperty("values.home");
  });

  it("is validated without being changed", async () => {
    const body = { content: "Hi {team} {x}", variables: ["team"], required_variables: ["team"], values: {} };
    expect(await call("POST", "/identity/validate", body)).toMatchObject([
      200,
      {
        valid: true,
        text: "Hi  {x}",
        problems: [{ kind: "unknown_variable" }, { kind: "missing_value", severity: "warning" }],
      },
    ]);
    expect(await call("GET", "/identity")).toMatchObject([200, { source: "builtin" }]);
  });
});

describe("with several owners", () => {
  it("lets all owners read, and only admin change, the shared texts", async () => {
    const keys = [
      { owner: "ada", key: "ada-key" },
      { owner: "admin", key: "admin-key" },
    ];
    const shared = await startTestServer({ apiKeys: keys });
    const send = (key: string, method: string, path: string, body?: object) =>
      shared.send(method, path, body, { "x-api-key": key });
    try {
      expect((await send("ada-key", "GET", "/prompts")).status).toBe(200);
      for (const [method, path] of [
        ["PUT", "/prompts/free_work"],
        ["DELETE", "/prompts/free_work"],
        ["POST", "/prompts/reload"],
        ["PUT", "/identity"],
        ["DELETE", "/identity"],
      ] as const) {
        const response = await send("ada-key", method, path, method === "PUT" ? { content: "Serve Ada." } : undefined);
        expect([response.status, await response.text()]).toEqual([
          403,
          "This belongs to all owners, and this key may only read it. Use a key of the owner admin.",
        ]);
      }
      expect((await send("admin-key", "PUT", "/identity", { content: "Serve all." })).status).toBe(200);
      expect(await (await send("ada-key", "GET", "/identity")).text()).toContain("Serve all.");
    } finally {
      await shared.remove();
    }
  });

  it("lets the only owner change them", async () => {
    const alone = await startTestServer({ apiKeys: [{ owner: "ada", key: "ada-key" }] });
    try {
      const response = await alone.send("PUT", "/identity", { content: "Serve." }, { "x-api-key": "ada-key" });
      expect(response.status).toBe(200);
    } finally {
      await alone.remove();
    }
  });
});
