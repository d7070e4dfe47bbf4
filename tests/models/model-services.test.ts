import type { AIMessageChunk } from "@langchain/core/messages";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { type Advice, adviceOf, isAppError } from "@millrace/engine/errors/errors";
import { createModelLoader } from "@millrace/models/load-model";
import { ModelServices } from "@millrace/models/resilience/model-services";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";

let server: ModelServer;
let services: ModelServices;
/** What a user is advised about the last request, if it failed. */
let lastAdvice: Advice | undefined;
beforeEach(async () => {
  server = await startModelServer({});
  services = new ModelServices();
});
afterEach(async () => {
  vi.useRealTimers();
  await server.close();
});

const down: ModelStep = { fault: { kind: "status", status: 503 } };
const cut: ModelStep = { text: "one two three", fault: { kind: "cut", after: 2 } };
const good: ModelStep = { text: "well done" };

/** One request; its outcome, in a word. */
async function ask(model = "openai:a", signal?: AbortSignal): Promise<string> {
  lastAdvice = undefined;
  const config = loadConfig({ OPENAI_BASE_URL: server.url, OLLAMA_BASE_URL: server.ollamaUrl });
  const client = createModelLoader(config, { services })(model, {});
  const chunks: AIMessageChunk[] = [];
  try {
    for await (const chunk of await client.stream("hello", signal === undefined ? {} : { signal })) chunks.push(chunk);
    return chunks.map(({ text }) => text).join("");
  } catch (error) {
    if (!isAppError(error)) return String(error);
    lastAdvice = adviceOf(error);
    return error.code;
  }
}

async function outcomes(steps: ModelStep[], model?: string): Promise<string[]> {
  const all: string[] = [];
  for (const step of steps) {
    server.push(step);
    all.push(await ask(model));
  }
  return all;
}

describe("the service of a model", () => {
  it("is left alone after five failures, by all that ask for it and for no other model", async () => {
    expect(await outcomes(Array(5).fill(down))).toEqual(Array(5).fill("server"));
    expect([await ask(), await ask()]).toEqual(["service_paused", "service_paused"]);
    expect(server.requestCount).toBe(5);
    expect(await outcomes([good], "openai:b")).toEqual(["well done"]);
    expect(services.list().map(({ model, state }) => [model, state])).toEqual([
      ["openai:a", "open"],
      ["openai:b", "closed"],
    ]);
  });

  it("is left alone after three where it runs here", async () => {
    expect(await outcomes(Array(3).fill(down), "ollama:a")).toEqual(Array(3).fill("server"));
    expect(await ask("ollama:a")).toBe("service_paused");
    // The first run that meets an Ollama which is not there ends so: its user has to learn what to do.
    expect(lastAdvice).toMatchObject({
      en: expect.stringContaining("ollama serve"),
      zh: expect.stringContaining("ollama serve"),
    });
  });

  it("is asked again after a minute, by one request", async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000 });
    await outcomes(Array(5).fill(down));
    vi.setSystemTime(61_000);
    const held = Promise.withResolvers<void>();
    server.push({ ...good, hold: { after: 0, until: held.promise } });
    const probe = ask();
    await expect.poll(() => server.requestCount).toBe(6);
    expect(await ask()).toBe("service_paused");
    held.resolve();
    expect(await probe).toBe("well done");
    expect(await outcomes([good])).toEqual(["well done"]);
  });

  it("does not count an answer that broke off after it had begun (SVC-05)", async () => {
    expect(await outcomes([down, down, down, down, cut, down])).toEqual([
      ...Array<string>(4).fill("server"),
      "network",
      "server",
    ]);
    expect(await outcomes([good])).toEqual(["well done"]);
  });

  it("is accounted for: calls, share of successes, mean times, failures by kind", async () => {
    await outcomes([good, down, cut, good, { fault: { kind: "status", status: 401 } }]);
    const stop = new AbortController();
    server.push({ fault: { kind: "hang" } });
    const stopped = ask("openai:a", stop.signal);
    await expect.poll(() => services.list()[0]?.in_flight).toBe(1);
    stop.abort();
    await stopped;
    const [status] = services.list("openai");
    expect(status).toEqual({
      model: "openai:a",
      state: "closed",
      retry_in_ms: 0,
      in_flight: 0,
      statistics: {
        calls: 6,
        succeeded: 2,
        failed: 3,
        cancelled: 1,
        refused: 0,
        success_rate: 0.4,
        mean_duration_ms: expect.any(Number),
        mean_first_token_ms: expect.any(Number),
        failures: { server: 1, network: 1, auth: 1 },
        last_failure: { error: "auth", at: expect.any(String) },
      },
    });
    expect(services.list("ollama")).toEqual([]);
  });

  it("forgets the one that was asked least lately once there are very many", async () => {
    const target = { address: "x", unreachableHint: "", unknownModelHint: "" };
    for (let number = 0; number < 600; number += 1) {
      const call = await services.begin({ target: { ...target, name: `openai:${number}` }, isLocal: false }, undefined);
      call.finished();
      call.left();
    }
    expect(services.list()).toHaveLength(500);
    expect(services.list()[0]?.model).toBe("openai:100");
  });
});

it("bounds the requests to a provider, over all of its models", async () => {
  const limited = new ModelServices({ makeRate: () => ({ acquire: async () => void taken.push(1) }) });
  const taken: number[] = [];
  const target = { address: "x", unreachableHint: "", unknownModelHint: "" };
  const begin = async (model: string) =>
    await limited.begin(
      { target: { ...target, name: model }, isLocal: false, maxConcurrent: 1, perSecond: 2 },
      undefined,
    );
  const first = await begin("openai:a");
  let isIn = false;
  const second = begin("openai:b").then((call) => {
    isIn = true;
    return call;
  });
  (await begin("zhipu:a")).left();
  expect(isIn).toBe(false);
  first.left();
  (await second).left();
  expect(taken).toHaveLength(3);
});
