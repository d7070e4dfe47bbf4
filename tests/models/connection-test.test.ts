import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { testConnection, type ConnectionTestOptions } from "@millrace/models/resilience/connection-test";
import { openModels, type ModelRegistry } from "@millrace/models/registry/registry";
import { offline } from "@millrace/offline/offline";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";

let folder = "";
let models: ModelRegistry;
let server: ModelServer;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "millrace-verify-"));
  server = await startModelServer({ script: [] });
  const environment = {
    MILLRACE_DATA_DIR: folder,
    OPENAI_API_KEY: "sk-canary-0123456789abcdef",
    OPENAI_BASE_URL: server.url,
  };
  models = openModels(
    loadConfig(environment),
    { error: (warning: object) => expect.fail(JSON.stringify(warning)) },
    { offline },
  );
});
afterEach(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const test = (model: string, options: Partial<ConnectionTestOptions> = {}) =>
  testConnection(models, model, { signal: new AbortController().signal, ...options });
const verified = (model: string): string | null => {
  const { provider } = models.reach(model);
  return models.verified()?.at(model, provider) ?? null;
};

describe("a test of a connection (LLM-22)", () => {
  it("asks one short question without a stream, and remembers that it was answered", async () => {
    server.push({ text: "Hello." });
    expect(await test("openai:a")).toMatchObject({ kind: "ok", facts: {} });
    expect(server.requests).toHaveLength(1);
    expect(server.requests[0]?.body).not.toMatchObject({ stream: true });
    expect(server.requests[0]?.messages).toMatchObject([{ role: "user", content: "Hi" }]);
    expect(Date.parse(verified("openai:a") ?? "")).not.toBeNaN();
    expect(verified("openai:b")).toBeNull();
  });

  it("lets a model that may think answer without", async () => {
    await writeFile(
      join(folder, "models.yaml"),
      "models:\n  openai:a: { thinking: optional, temperature: 0.7, temperature_thinking: 1 }\n",
    );
    server.push({ text: "Hello." });
    await test("openai:a");
    expect(server.requests[0]?.body).toMatchObject({ temperature: 0.7 });
  });

  it("switches off the thinking of a model that has the choice", async () => {
    const file = `providers:\n  zhipu: { base_url: "${server.url}" }\n`;
    await writeFile(join(folder, "models.yaml"), file);
    server.push({ text: "Hello." });
    expect(await test("zhipu:glm-4.7")).toMatchObject({ kind: "ok" });
    expect(server.requests[0]?.body).toMatchObject({ thinking: { type: "disabled" } });
  });

  it("waits 10 s and no longer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const asked = Promise.withResolvers<void>();
      const silent: typeof fetch = (_, init) => {
        asked.resolve();
        return new Promise((_resolve, reject) =>
          init?.signal?.addEventListener("abort", () => reject(new Error("given up"))),
        );
      };
      let verdict: unknown;
      const tested = test("openai:a", { fetch: silent }).then((came) => (verdict = came));
      await asked.promise;
      await vi.advanceTimersByTimeAsync(9_999);
      expect(verdict).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1);
      expect(await tested).toMatchObject({
        kind: "timeout",
        error: { message: "The model openai:a did not answer within 10 seconds." },
      });
    } finally {
      vi.useRealTimers();
    }
  });

  it.each<[string, ModelStep, string, string]>([
    ["401", { fault: { kind: "status", status: 401 } }, "auth", "auth"],
    ["403", { fault: { kind: "status", status: 403 } }, "auth", "auth"],
    ["429", { fault: { kind: "status", status: 429 } }, "rate_limit", "rate_limit"],
    ["404", { fault: { kind: "status", status: 404 } }, "other", "not_found"],
    ["500", { fault: { kind: "status", status: 500, message: "key sk-canary-0123456789abcdef" } }, "other", "server"],
    ["a broken connection", { fault: { kind: "reset" } }, "network", "network"],
  ])("says of %s what it is, once, and repeats no key", async (_, step, kind, code) => {
    server.push(step);
    const verdict = await test("openai:a");
    expect(verdict).toMatchObject({ kind, error: { code, suggestion: expect.any(String) } });
    expect(JSON.stringify(verdict)).not.toContain("canary");
    expect(server.requestCount).toBe(1);
    expect(verified("openai:a")).toBeNull();
  });

  it("ends in time when nothing comes, and at once when the caller is gone", async () => {
    server.push({ fault: { kind: "hang" } }, { fault: { kind: "hang" } });
    expect(await test("openai:a", { patience: 50 })).toMatchObject({
      kind: "timeout",
      error: { message: "The model openai:a did not answer within 0.05 seconds." },
    });
    const leaving = AbortSignal.abort();
    await expect(test("openai:a", { signal: leaving })).rejects.toMatchObject({ code: "cancelled" });
  });

  it("sends no request where the key is missing, and knows the offline model to be there", async () => {
    const fetchNothing = () => expect.fail("nothing is to be asked");
    expect(await test("zhipu:glm-4.7", { fetch: fetchNothing })).toMatchObject({
      kind: "auth",
      error: { message: expect.stringContaining("ZHIPU_API_KEY is empty") },
    });
    expect(await test("offline")).toMatchObject({ kind: "ok" });
    await expect(test("nowhere:x")).rejects.toMatchObject({ code: "invalid_parameter" });
  });

  it.each([["169.254.169.254"], ["fe80::1"], ["::ffff:169.254.169.254"]])(
    "refuses a name that leads to %s, and sends it no key",
    async (address) => {
      await writeFile(join(folder, "models.yaml"), "providers:\n  mine: { base_url: https://models.example }\n");
      const fetchNothing = () => expect.fail("no request is to be sent");
      const resolve = (host: string): Promise<string[]> => {
        expect(host).toBe("models.example");
        return Promise.resolve(["203.0.113.5", address]);
      };
      expect(await test("mine:x", { resolve, fetch: fetchNothing })).toMatchObject({
        kind: "other",
        error: { code: "blocked", message: expect.stringContaining("models.example is a link-local address") },
      });
    },
  );

  it("calls a name that leads nowhere a fault of the network", async () => {
    await writeFile(join(folder, "models.yaml"), "providers:\n  mine: { base_url: https://models.example }\n");
    const resolve = (): Promise<never> =>
      Promise.reject(Object.assign(new Error("getaddrinfo ENOTFOUND models.example"), { code: "ENOTFOUND" }));
    expect(await test("mine:x", { resolve })).toMatchObject({ kind: "network", error: { code: "network" } });
  });
});

describe("a test of a local model", () => {
  const answering = (status: number, body: object) => {
    const asked: [string, unknown][] = [];
    const fetched: typeof fetch = async (input, init) => {
      const request = new Request(input, init);
      asked.push([request.url, await request.json()]);
      return Response.json(body, { status });
    };
    return { asked, fetched };
  };

  it("looks it up without loading it, and returns its size and window", async () => {
    const { asked, fetched } = answering(200, {
      details: { parameter_size: "7.6B" },
      model_info: { "general.architecture": "qwen2", "qwen2.context_length": 32_768 },
    });
    expect(await test("ollama:qwen2.5:7b", { fetch: fetched })).toMatchObject({
      kind: "ok",
      facts: { parameterSize: "7.6B", contextLength: 32_768 },
    });
    expect(asked).toEqual([["http://127.0.0.1:11434/api/show", { model: "qwen2.5:7b" }]]);
  });

  it("that is not installed says how to get it", async () => {
    const { fetched } = answering(404, { error: "model 'qwen2.5:7b' not found" });
    expect(await test("ollama:qwen2.5:7b", { fetch: fetched })).toMatchObject({
      kind: "other",
      error: { code: "not_found", suggestion: "Pull the model with `ollama pull qwen2.5:7b`." },
    });
  });

  it("whose service is not running says how to start it", async () => {
    const fetched = () =>
      Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error("x"), { code: "ECONNREFUSED" }) }));
    expect(await test("ollama:x", { fetch: fetched })).toMatchObject({
      kind: "network",
      error: { suggestion: expect.stringContaining("ollama serve") },
    });
  });
});

describe("what is remembered of a test", () => {
  const remembered = (): string => join(folder, "verified-models.json");
  beforeEach(async () => {
    server.push({ text: "Hello." });
    await test("openai:a");
  });

  it("is forgotten when the key or the address changes, wherever that was done", async () => {
    const { credentials } = models.files();
    expect(verified("openai:a")).not.toBeNull();
    credentials.set("OPENAI_API_KEY", "another-key");
    expect(verified("openai:a")).toBeNull();
    credentials.set("OPENAI_API_KEY", undefined);
    expect(verified("openai:a")).not.toBeNull();
    await writeFile(join(folder, "models.yaml"), "providers:\n  openai: { base_url: http://127.0.0.1:9/v1 }\n");
    expect(verified("openai:a")).toBeNull();
  });

  it("is found again after a restart, in a file that holds no key and is its owner's alone", async () => {
    const again = openModels(
      loadConfig({
        MILLRACE_DATA_DIR: folder,
        OPENAI_API_KEY: "sk-canary-0123456789abcdef",
        OPENAI_BASE_URL: server.url,
      }),
      { error: () => undefined },
    );
    expect(again.verified()?.at("openai:a", again.reach("openai:a").provider)).toBe(verified("openai:a"));
    expect(again.verified()?.latest(again.reach("openai:b").provider)).toBe(verified("openai:a"));
    expect(await readFile(remembered(), "utf8")).not.toContain("canary");
    expect((await stat(remembered())).mode & 0o777).toBe(0o600);
  });

  it("does not grow with the names that were tested", async () => {
    const { provider } = models.reach("openai:a");
    const verifiedModels = models.verified();
    for (let index = 0; index < 501; index += 1) verifiedModels?.record(`openai:${index}`, provider, new Date());
    expect(verified("openai:a")).toBeNull();
    expect(verified("openai:0")).toBeNull();
    expect(verified("openai:500")).not.toBeNull();
  });
});
