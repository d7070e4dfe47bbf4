import { afterEach, describe, expect, it } from "vitest";
import { AppError } from "@millrace/engine/errors/errors";
import type { OllamaEvent } from "@millrace/models/ollama/events";
import { OllamaService, reconnectDelays } from "@millrace/models/ollama/service";
import type { ProfileRows } from "@millrace/models/registry/profiles";
import { refusingAddress } from "@millrace/testing/model-server";
import { OllamaServer } from "@millrace/testing/ollama-server";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

const signal = new AbortController().signal;

const qwen = {
  name: "qwen3:8b",
  size: 5_225_388_164,
  digest: "d1",
  modified_at: "2026-01-02T03:04:05Z",
  details: { family: "qwen3", parameter_size: "8.2B", quantization_level: "Q4_K_M" },
  show: {
    details: { parameter_size: "8.2B" },
    model_info: { "general.architecture": "qwen3", "qwen3.context_length": 40_960 },
    capabilities: ["completion", "tools", "thinking"],
  },
};
const small = {
  name: "llama3:latest",
  size: 4_661_224_676,
  digest: "d2",
  details: { parameter_size: "8.0B", quantization_level: "Q4_0" },
  show: { model_info: { "llama.context_length": 8192 }, capabilities: ["completion"] },
};

interface Fixture {
  server: OllamaServer;
  service: OllamaService;
  rows: () => ProfileRows;
  /** The waits that were asked for; each ends when the test says so. */
  waits: { milliseconds: number; over: () => void }[];
  logged: string[];
}

async function start(options: { isHere?: boolean; isInstalled?: boolean; address?: string } = {}): Promise<Fixture> {
  const server = await new OllamaServer().start();
  let rows: ProfileRows = {};
  const waits: Fixture["waits"] = [];
  const logged: string[] = [];
  const { isHere = true, isInstalled = true, address = server.url } = options;
  const log = (_: unknown, what?: string): void => void logged.push(what ?? "");
  const service = new OllamaService({
    place: () => ({ address, isHere }),
    register: (found) => (rows = found),
    isInstalled: async () => isInstalled,
    logger: { info: log, warn: log },
    wait: async (milliseconds, until) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      until.addEventListener("abort", () => reject(until.reason));
      waits.push({ milliseconds, over: resolve });
      await promise;
    },
  });
  ends.push(
    () => service.close(),
    () => server.stop(),
  );
  return { server, service, rows: () => rows, waits, logged };
}

/** Waits until something is so that the service does by itself. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

function listen(service: OllamaService): OllamaEvent[] {
  const events: OllamaEvent[] = [];
  const stop = new AbortController();
  ends.unshift(() => stop.abort());
  void (async () => {
    for await (const batch of service.follow(stop.signal)) events.push(...batch);
  })();
  return events;
}

describe("the health of Ollama (LLM-15)", () => {
  it("is RUNNING where it reports its version", async () => {
    const { service } = await start();
    expect(service.state()).toBeUndefined();
    expect(await service.check()).toMatchObject({ status: "RUNNING", version: "0.12.9", problem: null, models: [] });
    expect(service.state()?.status).toBe("RUNNING");
  });

  it("is NOT_RUNNING where the port refuses and the program is there, or the address is another machine's", async () => {
    const address = await refusingAddress();
    for (const where of [{ isInstalled: true }, { isHere: false, isInstalled: false }]) {
      const { service } = await start({ address, ...where });
      expect(await service.check()).toMatchObject({ status: "NOT_RUNNING", version: null, address });
    }
  });

  it("is NOT_INSTALLED where the port of this machine refuses and there is no program", async () => {
    const { service } = await start({ address: await refusingAddress(), isInstalled: false });
    const { status, problem } = await service.check();
    expect([status, problem?.code]).toEqual(["NOT_INSTALLED", "network"]);
  });

  it.each([
    ["it fails", "/api/version", { status: 500, body: '{"error":"no"}' }],
    ["something else answers", "/api/version", { status: 200, body: "<html>" }],
    ["its list cannot be had", "/api/tags", { status: 500, body: '{"error":"no"}' }],
    ["its list is none", "/api/tags", { status: 200, body: '{"models":7}' }],
  ])("is ERROR where %s", async (_what, path, fault) => {
    const { server, service } = await start();
    server.faults.set(path, fault);
    const { status, problem } = await service.check();
    expect([status, problem?.code]).toEqual(["ERROR", "server"]);
    server.faults.clear();
    expect((await service.check()).status).toBe("RUNNING");
  });

  it("is ERROR where the name of its machine is not known", async () => {
    // Too long for a name, so no server is asked.
    const { service } = await start({ address: `http://${"a".repeat(64)}.invalid` });
    expect(await service.check()).toMatchObject({ status: "ERROR", problem: { code: "network" } });
  });
});

describe("the models of Ollama", () => {
  it("are listed with what the server knows of each, and registered with the window that fits", async () => {
    const { server, service, rows } = await start();
    server.models = [qwen, small];
    const { models } = await service.check();
    expect(models).toEqual([
      {
        name: "qwen3:8b",
        size: 5_225_388_164,
        parameter_size: "8.2B",
        quantization: "Q4_K_M",
        modified_at: "2026-01-02T03:04:05Z",
        context_length: 40_960,
        window: 32_768,
        supports_vision: false,
        supports_tools: true,
        thinks: true,
        can_chat: true,
      },
      {
        name: "llama3:latest",
        size: 4_661_224_676,
        parameter_size: "8.0B",
        quantization: "Q4_0",
        modified_at: null,
        context_length: 8192,
        window: 8192,
        supports_vision: false,
        supports_tools: false,
        thinks: false,
        can_chat: true,
      },
    ]);
    expect(rows()).toEqual({
      "ollama:qwen3:8b": {
        context: 32_768,
        output: 8192,
        vision: false,
        tool_calls: "native",
        thinking: "optional",
      },
      "ollama:llama3:latest": {
        context: 8192,
        output: 2048,
        vision: false,
        tool_calls: "text",
        thinking: "none",
      },
    });
    expect([service.isAvailable("llama3"), service.isAvailable("qwen3")]).toEqual([true, false]);
  });

  it("are asked about once, until they change", async () => {
    const { server, service } = await start();
    server.models = [qwen, small];
    await service.check();
    server.asked.length = 0;
    await service.check();
    expect(server.asked).toEqual(["/api/version", "/api/tags"]);
    server.models = [qwen, { ...small, digest: "d3", show: { ...small.show, capabilities: ["completion", "vision"] } }];
    const { models } = await service.check();
    expect(server.asked.filter((path) => path === "/api/show")).toHaveLength(1);
    expect(models[1]).toMatchObject({ supports_vision: true });
  });

  it("go by their names where the server says nothing of them", async () => {
    const { server, service, rows } = await start();
    server.models = ["qwen2.5:7b", "llava:13b", "gemma2:9b", "nomic-embed-text:latest", "hf.co/some/thing:Q4"].map(
      (name, index) => ({ name, show: index % 2 === 0 ? {} : 500 }),
    );
    const { models } = await service.check();
    expect(
      models.map(({ name, context_length, window, supports_vision, supports_tools, can_chat }) => [
        name,
        context_length,
        window,
        supports_vision,
        supports_tools,
        can_chat,
      ]),
    ).toEqual([
      ["qwen2.5:7b", 32_768, 32_768, false, true, true],
      ["llava:13b", 4096, 4096, true, false, true],
      ["gemma2:9b", 8192, 8192, false, false, true],
      ["nomic-embed-text:latest", null, 32_768, false, false, false],
      ["hf.co/some/thing:Q4", null, 32_768, false, false, true],
    ]);
    expect(Object.keys(rows())).not.toContain("ollama:nomic-embed-text:latest");
  });

  it("have the window that their file asks for", async () => {
    const { server, service } = await start();
    const wide = { ...qwen.show, parameters: 'temperature 0.6\nnum_ctx                        40000\nstop "x"' };
    server.models = [
      { ...qwen, show: wide },
      { ...small, show: { ...small.show, parameters: "num_ctx 100" } },
    ];
    expect((await service.check()).models.map(({ window }) => window)).toEqual([40_000, 2048]);
  });

  it("are shown one by one, and are in memory or not", async () => {
    const { server, service } = await start();
    server.models = [{ ...qwen, running: { context_length: 32_768 } }, small];
    await service.check();
    expect(await service.show("llama3", signal)).toMatchObject({
      name: "llama3:latest",
      size: 4_661_224_676,
      context_length: 8192,
      capabilities: ["completion"],
    });
    expect(await service.running(signal)).toEqual([
      { name: "qwen3:8b", size: 0, size_vram: 0, context_length: 32_768, expires_at: null },
    ]);
    await expect(service.show("unknown", signal)).rejects.toMatchObject({
      code: "not_found",
      suggestion: "Pull the model with `ollama pull unknown`.",
    });
    await server.stop();
    await expect(service.running(signal)).rejects.toMatchObject({
      code: "network",
      suggestion: expect.stringContaining("ollama serve"),
    });
  });
});

describe("changes of Ollama", () => {
  it("are sent to listeners: how it is now, then its status and its models", async () => {
    const { server, service, logged } = await start();
    server.models = [qwen];
    const events = listen(service);
    await until(() => events.length === 2);
    server.models = [small];
    await service.check();
    await server.stop();
    await service.check();
    await until(() => events.length === 4);
    expect(events).toMatchObject([
      { type: "ollama_status", status: "RUNNING", former: null, version: "0.12.9" },
      { type: "ollama_models", models: ["qwen3:8b"], added: ["qwen3:8b"], removed: [] },
      { type: "ollama_models", models: ["llama3:latest"], added: ["llama3:latest"], removed: ["qwen3:8b"] },
      { type: "ollama_status", status: "NOT_RUNNING", former: "RUNNING", version: null },
    ]);
    expect(logged).toEqual(["ollama_models", "ollama_status", "ollama_models", "ollama_status"]);
  });

  it("are looked for after 5, 10 and 30 s when it was lost, and then no more", async () => {
    const { server, service, waits } = await start();
    expect(reconnectDelays).toEqual([5000, 10_000, 30_000]);
    await service.check();
    await server.stop();
    expect(await service.check()).toMatchObject({ status: "NOT_RUNNING", reconnect: 1 });
    // A second check meanwhile starts no second series of checks.
    await service.check();
    for (const [index, milliseconds] of reconnectDelays.entries()) {
      await until(() => waits.length === index + 1);
      expect(service.state()?.reconnect).toBe(index + 1);
      expect(waits[index]?.milliseconds).toBe(milliseconds);
      waits[index]?.over();
    }
    await until(() => service.state()?.reconnect === null);
    expect(waits).toHaveLength(3);
    await server.start();
    expect((await service.check()).status).toBe("RUNNING");
  });

  it("end the looks when it is back", async () => {
    const { server, service, waits } = await start();
    await service.check();
    await server.stop();
    await service.check();
    await until(() => waits.length === 1);
    await server.start();
    waits[0]?.over();
    await until(() => service.state()?.reconnect === null);
    expect(service.state()?.status).toBe("RUNNING");
    expect(waits).toHaveLength(1);
  });

  it("are noticed by requests to its models, without polling", async () => {
    const { server, service } = await start();
    service.requestEnded();
    await until(() => service.state()?.status === "RUNNING");
    server.asked.length = 0;
    service.requestEnded();
    service.requestEnded(new AppError("timeout", "late"));
    service.requestEnded(new AppError("server", "no memory"));
    await server.stop();
    service.requestEnded(new AppError("network", "gone"));
    await until(() => service.state()?.status === "NOT_RUNNING");
    expect(server.asked).toEqual([]);
    service.requestEnded(new AppError("network", "gone"));
    await server.start();
    service.requestEnded();
    await until(() => service.state()?.status === "RUNNING");
  });

  it("end with the service", async () => {
    const { server, service } = await start();
    let isOver = false;
    const reading = (async () => {
      for await (const _ of service.follow(signal));
      isOver = true;
    })();
    await service.check();
    server.faults.set("/api/version", "hang");
    const looking = service.check();
    service.close();
    await reading;
    expect(isOver).toBe(true);
    await expect(looking).rejects.toThrow(/abort/u);
  });
});
