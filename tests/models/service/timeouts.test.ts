import { expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { ollama } from "@millrace/models/ollama/ollama";
import { openai } from "@millrace/models/openai-compatible";
import type { Provider } from "@millrace/models/provider";
import { profileOf, type ProfileRows } from "@millrace/models/registry/profiles";
import { ModelRegistry } from "@millrace/models/registry/registry";
import { timeoutsOf } from "@millrace/models/resilience/timeouts";
import { startSilentServer } from "../faults/fault-server.ts";

const inSeconds = (model: string, isLocal = false, own: ProfileRows = {}, thinking?: boolean): number[] => {
  const options = thinking === undefined ? {} : { thinking };
  const { connectMs, firstTokenMs, idleMs, totalMs } = timeoutsOf(profileOf(model, own), isLocal, options);
  return [connectMs, firstTokenMs, idleMs, totalMs].map((ms) => ms / 1000);
};

it.each<[string, number[], number[]]>([
  ["a model of a vendor", inSeconds("openai:gpt-4o"), [10, 60, 60, 300]],
  ["a model that runs here", inSeconds("ollama:llama3.1:8b", true), [10, 120, 120, 300]],
  ["a model that thinks", inSeconds("zhipu:glm-4.7"), [10, 300, 60, 600]],
  ["a model that does not think now", inSeconds("zhipu:glm-4.7", false, {}, false), [10, 60, 60, 300]],
  ["a model that usually does not think", inSeconds("deepseek:deepseek-chat"), [10, 60, 60, 300]],
  ["such a model, where a run wants it", inSeconds("deepseek:deepseek-chat", false, {}, true), [10, 300, 60, 600]],
  [
    "what the user says",
    inSeconds("openai:x", false, { "openai:*": { first_token_seconds: 0.5 } }),
    [10, 0.5, 60, 300],
  ],
])("the time-outs of %s", (_name, measured, expected) => {
  expect(measured).toEqual(expected);
});

it("are longer for Ollama, which runs here, than for a vendor", () => {
  const models = new ModelRegistry(loadConfig({}));
  const silence = (model: string): number => models.reach(model).connection.timeouts.idleMs;
  expect([silence("ollama:llama3.1:8b"), silence("openai:gpt-4o")]).toEqual([120_000, 60_000]);
});

it.each<[string, Provider]>([
  ["openai", openai],
  ["ollama", ollama],
])("a connection that %s never makes ends by the first of them", async (name, provider) => {
  const server = await startSilentServer();
  try {
    const own = { connect_seconds: 0.1, first_token_seconds: 5, idle_seconds: 5, total_seconds: 5 };
    const profile = { ...profileOf(`${name}:x`), ...own };
    const connection = { address: server.address, apiKey: "test-key", timeouts: timeoutsOf(profile, false), profile };
    const reading = async (): Promise<void> => {
      for await (const _ of await provider.create("x", {}, connection).stream("Hi")) expect.unreachable();
    };
    // The last ones would say that the model said nothing.
    await expect(reading()).rejects.toThrow(/timed out|fetch failed/u);
  } finally {
    await server.close();
  }
});
