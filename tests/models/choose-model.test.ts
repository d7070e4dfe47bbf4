import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { chooseModel, withModelByKey } from "@millrace/models/choose-model";

let server: Server | undefined;
afterEach(() => void server?.close());

/** A server that answers as Ollama does, with models and whether they call tools, newest last. */
async function ollama(models: Record<string, boolean>): Promise<string> {
  const names = Object.keys(models);
  server = createServer((request, response) => {
    let body = "";
    request.on("data", (part) => (body += String(part)));
    request.on("end", () => {
      const asked: unknown = body === "" ? undefined : JSON.parse(body);
      const name = typeof asked === "object" && asked !== null && "model" in asked ? String(asked.model) : "";
      const answer =
        request.url === "/api/tags"
          ? { models: names.map((one, index) => ({ name: one, modified_at: `2026-01-0${index + 1}` })) }
          : { capabilities: models[name] === true ? ["completion", "tools"] : ["completion"] };
      response.setHeader("content-type", "application/json").end(JSON.stringify(answer));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  // A server that listens has an address with a port.
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function choose(environment: Record<string, string>) {
  const config = loadConfig({ OLLAMA_BASE_URL: "http://127.0.0.1:9", ...environment });
  return chooseModel(config);
}

describe("the model of a server", () => {
  it.each([
    [{ OPENAI_API_KEY: "k" }, "openai:gpt-5-mini"],
    [{ ZHIPU_API_KEY: "k" }, "zhipu:glm-4.7"],
    [{ DEEPSEEK_API_KEY: "k" }, "deepseek:deepseek-chat"],
    [{ DASHSCOPE_API_KEY: "k" }, "qwen:qwen-plus"],
    [{ SILICONFLOW_API_KEY: "k" }, "siliconflow:deepseek-ai/DeepSeek-V3"],
    [{ DEEPSEEK_API_KEY: "k", OPENAI_API_KEY: "k" }, "openai:gpt-5-mini"],
  ])("is that of the vendor whose key is set: %j", async (environment, expected) => {
    expect(await choose(environment)).toEqual({
      model: expected,
      why: expect.stringContaining("_API_KEY is set"),
    });
  });

  it("is the newest of a running Ollama that calls tools, where no key is set", async () => {
    const base = await ollama({ "qwen3:8b": true, "llama3.1:8b": true, "llava:7b": false });
    expect((await choose({ OLLAMA_BASE_URL: base })).model).toBe("ollama:llama3.1:8b");
  });

  it("is the stand-in where there is neither, and it says what to set", async () => {
    const base = await ollama({ "llava:7b": false });
    const environments: Record<string, string>[] = [{}, { OLLAMA_BASE_URL: base }];
    for (const environment of environments) {
      const { model, why } = await choose(environment);
      expect(model).toBe("offline");
      expect(why).toMatch(/no language model.*OPENAI_API_KEY.*MILLRACE_MODEL/u);
    }
  });

  it("is by the keys alone where there is no time to wait for Ollama", () => {
    expect(withModelByKey(loadConfig({ ZHIPU_API_KEY: "k" })).model).toBe("zhipu:glm-4.7");
    expect(withModelByKey(loadConfig({})).model).toBe("offline");
  });

  it("is the one that is configured, without a look at anything else", async () => {
    expect(await choose({ MILLRACE_MODEL: "zhipu:glm-4.7", OPENAI_API_KEY: "k" })).toEqual({
      model: "zhipu:glm-4.7",
      why: "MILLRACE_MODEL says so",
    });
  });
});
