import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { loadConfig, unknownNames } from "@millrace/engine/config/config";
import { startModelServer } from "@millrace/testing/model-server";

import { recordLog } from "../support/processes/record-log.ts";
import { startTestServer, type TestServer } from "../support/test-server.ts";
import { projectFolder } from "../support/source-files.ts";

let folder: string;
let file: string;
let server: TestServer | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-secrets-"));
  file = join(folder, "secret");
});
afterEach(async () => {
  await server?.remove();
  server = undefined;
  await rm(folder, { recursive: true, force: true });
});

/** Replaces the file at once, as an orchestrator does. */
async function replace(text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

describe("the clients' keys in a file", () => {
  async function start() {
    const { apiKeys, secretFiles } = loadConfig({ MILLRACE_API_KEYS_FILE: file });
    const { logger, lines } = recordLog();
    server = await startTestServer({ apiKeys, secretFiles }, logger);
    const started = server;
    const status = async (key: string): Promise<number> =>
      (await started.send("GET", "/me", undefined, { "x-api-key": key })).status;
    return { status, lines };
  }

  it("count as they are now: a new one opens, one that is gone does not, without a restart", async () => {
    await replace("ada:first\nbob:other,\n");
    const { status, lines } = await start();
    expect([await status("first"), await status("other"), await status("second")]).toEqual([200, 200, 401]);
    await replace("ada:second\n");
    expect([await status("first"), await status("other"), await status("second")]).toEqual([401, 401, 200]);
    expect(lines.filter(({ msg }) => msg === "secret_changed")).toMatchObject([{ variable: "MILLRACE_API_KEYS_FILE" }]);
    expect(JSON.stringify(lines)).not.toMatch(/"(first|second|other)"/u);
  });

  it("stay as they were while the file is empty, wrong or gone, which is logged once", async () => {
    await replace("ada:first");
    const { status, lines } = await start();
    for (const [text, problem] of [
      ["  \n", "it is empty"],
      [",", "it holds no key"],
      ["a b:c", "entry 1: expected name:key"],
    ] as const) {
      await replace(text);
      expect([await status("first"), await status("c"), await status("")]).toEqual([200, 401, 401]);
      const warnings = lines.filter(({ msg }) => msg === "secret_file_not_used");
      expect(warnings.splice(0)).toMatchObject([{ level: 50, problem: expect.stringContaining(problem) }]);
      lines.length = 0;
    }
    await rm(file);
    expect([await status("first"), await status("first")]).toEqual([200, 200]);
    expect(lines.filter(({ msg }) => msg === "secret_file_not_used")).toMatchObject([{ problem: "it is not there" }]);
    await replace("ada:second");
    expect([await status("first"), await status("second")]).toEqual([401, 200]);
  });
});

describe("the key of a model in a file", () => {
  it("is sent as it is now", async () => {
    await replace("sk-the-first-key");
    const model = await startModelServer({ script: [{ text: "One." }, { text: "Two." }] });
    try {
      const config = loadConfig({ OPENAI_API_KEY_FILE: file, OPENAI_BASE_URL: model.url });
      const graphs = join(projectFolder, "langgraph.json");
      const { openai, secretFiles } = config;
      server = await startTestServer({ graphs, openai, secretFiles, model: "openai:scripted" });
      const say = async (): Promise<void> => {
        const body = { assistant_id: "agent", input: { messages: [{ role: "user", content: "Say a number." }] } };
        expect((await server?.send("POST", "/runs/wait", { ...body, context: { mode: "reply" } }))?.status).toBe(200);
      };
      await say();
      await replace("sk-the-second-key");
      await say();
      const sent = model.requests.map(({ headers }) => headers["authorization"]);
      expect(sent).toEqual(["Bearer sk-the-first-key", "Bearer sk-the-second-key"]);
    } finally {
      await model.close();
    }
  });
});

describe("a start", () => {
  it("takes the secret of any variable from a file, without its line end", async () => {
    await replace("for-prometheus\r\n");
    expect(loadConfig({ MILLRACE_METRICS_KEY_FILE: file }).metricsKey).toBe("for-prometheus");
  });

  it("refuses a file that is empty or cannot be read, and two sources for one secret", async () => {
    await replace("\n");
    expect(() => loadConfig({ OPENAI_API_KEY_FILE: file })).toThrow(`OPENAI_API_KEY_FILE: ${file}: it is empty`);
    expect(() => loadConfig({ OPENAI_API_KEY_FILE: folder })).toThrow("it is not a file");
    expect(() => loadConfig({ MILLRACE_API_KEYS_FILE: join(folder, "gone") })).toThrow("it is not there");
    await replace("sk-a-key");
    expect(() => loadConfig({ OPENAI_API_KEY_FILE: file, OPENAI_API_KEY: "sk-another" })).toThrow(
      "OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set",
    );
  });

  it("does not take such a name for a mistake", () => {
    process.env["MILLRACE_API_KEYS_FILE"] = file;
    expect(unknownNames().map(({ name }) => name)).not.toContain("MILLRACE_API_KEYS_FILE");
    process.env["MILLRACE_API_KEY_FILE"] = file;
    expect(unknownNames()).toContainEqual({ name: "MILLRACE_API_KEY_FILE", nearest: "MILLRACE_API_KEYS_FILE" });
  });
});
