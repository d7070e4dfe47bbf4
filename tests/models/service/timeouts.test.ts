import { expect, it } from "vitest";
import { profileOf, type ProfileRows } from "@millrace/models/registry/profiles";
import { timeoutsOf } from "@millrace/models/resilience/timeouts";

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
