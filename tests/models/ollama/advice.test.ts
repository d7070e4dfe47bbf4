import { afterEach, describe, expect, it } from "vitest";
import { adviceOf } from "@millrace/engine/errors/errors";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel, modelTarget } from "@millrace/models/load-model";
import { toModelError } from "@millrace/models/model-error";
import { statusText } from "@millrace/models/ollama/advice";
import { ollamaStatuses } from "@millrace/models/ollama/health";
import { recommendedModels } from "@millrace/models/ollama/recommended-models";
import { builtInProfiles } from "@millrace/models/registry/profiles";
import { refusingAddress, startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

const status = (code: number, message: string): ModelStep => ({ fault: { kind: "status", status: code, message } });

describe("a failure of a local model says what to do, in English and Chinese (LLM-16)", () => {
  it.each<[string, ModelStep | "away", RegExp, RegExp]>([
    [
      "start the service and check the address",
      "away",
      /`ollama serve`.*OLLAMA_BASE_URL/u,
      /`ollama serve`.*服务地址/u,
    ],
    [
      "pull the model",
      status(404, "model 'some:7b' not found"),
      /`ollama pull some:7b`/u,
      /`ollama pull some:7b` 安装模型/u,
    ],
    [
      "choose a smaller or quantised model, for want of memory",
      status(500, "model requires more system memory (5.6 GiB) than is available (3.1 GiB)"),
      /too little memory.*smaller or more quantised model/u,
      /内存或显存不足.*更小或量化/u,
    ],
    [
      "choose a smaller or quantised model, where it broke down",
      status(500, "model runner has unexpectedly stopped, this may be due to resource limitations"),
      /smaller or more quantised model/u,
      /更小或量化/u,
    ],
    [
      "give it more time",
      status(408, "late"),
      /more time \(first_token_seconds.*smaller or quantised/u,
      /增加超时时间/u,
    ],
    ["give it more time, where nothing comes", { fault: { kind: "hang" } }, /more time/u, /增加超时时间/u],
    ["look at its log", status(500, "strange"), /log of Ollama/u, /Ollama 的日志/u],
  ])("%s", async (_what, step, english, chinese) => {
    const server = await startModelServer({ script: step === "away" ? [] : [step] });
    servers.push(server);
    const address = step === "away" ? await refusingAddress() : server.ollamaUrl;
    const model = createModel("ollama:some:7b", {}, loadConfig({ OLLAMA_BASE_URL: address }));
    const late = new Error("The operation timed out");
    late.name = "TimeoutError";
    const isHanging = step !== "away" && step.fault?.kind === "hang";
    const thrown = isHanging ? late : await model.invoke("hello").catch((error: unknown) => error);
    const error = toModelError(thrown, modelTarget(model));
    expect(error.suggestion).toMatch(english);
    expect(adviceOf(error)).toMatchObject({ en: error.suggestion, zh: expect.stringMatching(chinese) });
  });

  it("keeps its own suggestion where nothing is known of the kind", async () => {
    const server = await startModelServer({ script: [status(400, "x does not support tools")] });
    servers.push(server);
    const model = createModel("ollama:x", {}, loadConfig({ OLLAMA_BASE_URL: server.ollamaUrl }));
    const error = toModelError(await model.invoke("hello").catch((thrown: unknown) => thrown), modelTarget(model));
    expect([error.code, error.suggestion, adviceOf(error)]).toEqual([
      "unavailable_tool_mode",
      "Choose a model with tool support.",
      undefined,
    ]);
  });
});

it("has words for every status of the service", () => {
  for (const one of ollamaStatuses) {
    const [english, chinese] = [statusText(one, "en"), statusText(one, "zh")];
    expect(english.message).toMatch(/^Ollama [a-z ]+\.$/u);
    expect(chinese.message).toMatch(/\p{Script=Han}/u);
    expect([english.suggestion, chinese.suggestion].map((text) => text === null)).toEqual(
      Array(2).fill(one === "RUNNING"),
    );
  }
  expect(statusText("NOT_INSTALLED", "en").suggestion).toContain("https://ollama.com/download");
});

it("recommends five models, which have titles (LLM-17)", () => {
  const names = recommendedModels.map(({ name }) => name);
  expect(names).toEqual(["qwen2.5:7b", "qwen2.5:14b", "deepseek-coder:6.7b", "llama3.1:8b", "mistral:7b"]);
  for (const { name, about } of recommendedModels) {
    expect(builtInProfiles(`ollama:${name}`).display_name).not.toBe(name);
    expect(about.zh).toMatch(/\p{Script=Han}/u);
  }
});
