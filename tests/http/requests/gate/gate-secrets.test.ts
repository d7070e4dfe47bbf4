import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toolkits } from "../../../../src/toolkits/index.ts";
import { ServerProcess } from "../../../support/processes/server-process.ts";

/** The configured secrets, by variable; none of them may leave the server (S16 in reliability.md). */
const canaries = {
  MILLRACE_API_KEYS: "canary-client-key-6f1c0a",
  OPENAI_API_KEY: "sk-canary-openai-77aa0193bd",
  ZHIPU_API_KEY: "canary-zhipu-51d0e2aa77",
  SILICONFLOW_API_KEY: "canary-siliconflow-0c44d1",
  DEEPSEEK_API_KEY: "canary-deepseek-93be10ff",
  DASHSCOPE_API_KEY: "canary-dashscope-2b7d66e0",
  LANGSMITH_API_KEY: "lsv2_canary_langsmith_a1b2c3",
};
/** Keys that are stored by the API: one of a user's own provider, and one that overrides the environment. */
const stored = { mine: "canary-stored-mine-88c1e5d0", zhipu: "canary-stored-zhipu-3b7f9a12" };
/** And one of a search engine. */
const searchKey = "canary-stored-search-5e0d72c1";
const headers = { "x-api-key": canaries.MILLRACE_API_KEYS, "content-type": "application/json" };

let folder = "";
let server: ServerProcess;
let vendor: Server;
const traces: string[] = [];
/** The keys that the search engine has received. */
const searchKeys: string[] = [];
/** Everything the server has sent to its clients. */
const answers: string[] = [];

/** A vendor that refuses the key and repeats it in its error, as some do; and a LangSmith that accepts everything. */
function startVendor(): Promise<string> {
  vendor = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      response.setHeader("content-type", "application/json");
      if (request.url?.startsWith("/v1/") !== true) {
        const body = Buffer.concat(parts);
        traces.push((request.headers["content-encoding"] === "gzip" ? gunzipSync(body) : body).toString("utf8"));
        response.end(
          request.url?.endsWith("/info") === true ? `{"batch_ingest_config":{"use_multipart_endpoint":false}}` : "{}",
        );
        return;
      }
      response.statusCode = request.url.includes("broken") ? 500 : 401;
      const key = request.headers["ocp-apim-subscription-key"];
      if (key !== undefined) searchKeys.push(String(key));
      const message = `Incorrect API key provided: ${request.headers.authorization ?? String(key)}.`;
      response.end(JSON.stringify({ error: { message, type: "invalid_request_error", code: "invalid_api_key" } }));
    });
  });
  const { promise, resolve } = Promise.withResolvers<string>();
  // A listening server has an AddressInfo.
  vendor.listen(0, "127.0.0.1", () => resolve(`http://127.0.0.1:${(vendor.address() as AddressInfo).port}`));
  return promise;
}

async function ask(
  method: string,
  path: string,
  body?: unknown,
  extra: Record<string, string> = headers,
): Promise<void> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: extra,
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  answers.push(JSON.stringify([...response.headers]), await response.text());
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-secrets-"));
  await mkdir(join(folder, "workspace"));
  const url = await startVendor();
  server = new ServerProcess(folder, join(folder, "workspace"));
  server.configure({
    ...canaries,
    OPENAI_BASE_URL: `${url}/v1`,
    LANGSMITH_ENDPOINT: url,
    BING_SEARCH_URL: `${url}/v1/bing`,
    MILLRACE_LOG_LEVEL: "trace",
  });
  await server.start();
  const id = "0192d1c4-7d5e-7000-8000-0000000000cc";
  await ask("POST", "/threads", { thread_id: id });
  await ask("PUT", "/providers/mine", { base_url: `${url}/v1`, key: "MINE_API_KEY" });
  await ask("PUT", "/providers/zhipu", { base_url: `${url}/v1` });
  for (const [name, key] of Object.entries(stored)) {
    await ask("PUT", `/providers/${name}/key`, { key });
    await ask("PUT", `/providers/${name}/key`, { key: `${key} and a space` });
    await ask("PUT", `/providers/${name}/key`, { key: [key] });
  }
  await ask("PUT", "/web-search/bing/key", { key: searchKey });
  await ask("PUT", "/web-search/bing/key", { key: `${searchKey} and a space` });
  await ask("GET", "/web-search");
  for (const model of ["openai:x", "zhipu:x", "mine:x", "mine:broken"]) await ask("POST", `/models/${model}/test`);
  for (const model of ["openai:gpt-x", "offline", "zhipu:nothing", "mine:x", "unknown:model"]) {
    const run = {
      assistant_id: "agent",
      input: { messages: [{ role: "user", content: "list the files" }] },
      context: { model, web_search: "general" },
      stream_mode: ["values", "messages-tuple", "custom", "debug", "updates"],
    };
    await ask("POST", `/threads/${id}/runs/stream`, run);
    await ask("POST", `/threads/${id}/runs/wait`, run);
  }
  for (const path of [
    "/openapi.json",
    "/info",
    "/models",
    "/models/mine:x",
    "/providers",
    "/ok",
    `/threads/${id}`,
    `/threads/${id}/state`,
    `/threads/${id}/history`,
  ]) {
    await ask("GET", path);
  }
  await ask("GET", `/threads/${id}/runs`);
  await ask("POST", "/assistants/search", {});
  await ask("GET", "/assistants/agent/schemas");
  await ask("POST", "/threads", "{broken", headers);
  await ask("POST", "/threads", "[".repeat(100), headers);
  await ask("GET", "/threads", undefined, { "x-api-key": "a wrong key" });
  await ask("GET", "/nowhere");
  await ask("GET", `/threads/${id}`, undefined, { ...headers, origin: "http://evil.com" });
  await server.stop();
});
afterAll(async () => {
  await server.stop();
  vendor.closeAllConnections();
  vendor.close();
  await rm(folder, { recursive: true, force: true });
});

describe("keys of the configuration", () => {
  const secrets = [...Object.values(canaries), ...Object.values(stored), searchKey];
  const found = (text: string): string[] => secrets.filter((canary) => text.includes(canary));

  test("are in no answer, no event and no error", () => {
    expect(answers.length).toBeGreaterThan(30);
    expect(answers.join("\n")).toContain("event: error");
    const searches = toolkits.some(({ name }) => name === "web");
    expect(searchKeys.includes(searchKey)).toBe(searches);
    expect(answers.map(found).flat()).toEqual([]);
  });

  test("are in no line of the log at debug level", async () => {
    const log = await readFile(server.logFile, "utf8");
    expect(log).toContain('"msg":"listening"');
    expect(found(log)).toEqual([]);
  });

  test("are in no file of the data folder except the key file", async () => {
    const files = await readdir(join(folder, "data"));
    expect(files).toEqual(expect.arrayContaining(["millrace.db", "models.yaml", "credentials.json"]));
    for (const file of files.filter((name) => name !== "credentials.json"))
      expect(found(await readFile(join(folder, "data", file), "latin1")), file).toEqual([]);
  });

  test("are in no trace", () => {
    expect(traces.join("\n")).toContain("agent");
    expect(found(traces.join("\n"))).toEqual([]);
  });
});
