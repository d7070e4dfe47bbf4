import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { ChatOpenAI } from "@langchain/openai";
import { loadConfig } from "@millrace/engine/config/config";
import { createModelLoader, modelTarget } from "@millrace/models/load-model";
import { ModelServices } from "@millrace/models/resilience/model-services";
import { openModels } from "@millrace/models/registry/registry";
import { callWithRetry } from "@millrace/models/resilience/call-with-retry";
import type { Figure, Section } from "../figures.ts";
import { percentile } from "../servers/load.ts";

const concurrencies = [1, 8];
const order = ["without", "with"] as const;
const never = new AbortController().signal;

/** Milliseconds until the first words of an answer. */
type FirstToken = () => Promise<number>;

/**
 * What all that stands around a request (retries, breaker, statistics, bulkhead, rate, time-outs, the vendor's quirks) adds to the
 * time until the first words, against the package's own client. Both sides take turns; the first `warmUp` of each are not counted.
 */
export async function measurePolicies(modelUrl: string, rounds: number, warmUp: number): Promise<Section> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-bench-"));
  try {
    const sides = { without: bare(modelUrl), with: withPolicies(modelUrl, folder) };
    const figures: Figure[] = [];
    for (const concurrency of concurrencies) figures.push(...(await compare(sides, concurrency, { rounds, warmUp })));
    return { title: "First token: all policies of a model call, against none", figures };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compare(
  sides: { without: FirstToken; with: FirstToken },
  concurrency: number,
  { rounds, warmUp }: { rounds: number; warmUp: number },
): Promise<Figure[]> {
  const times: Record<keyof typeof sides, number[]> = { without: [], with: [] };
  const cpu = { without: 0, with: 0 };
  for (let round = 0; round < warmUp + rounds; round += 1) {
    for (const side of round % 2 === 0 ? order : order.toReversed()) {
      const before = process.cpuUsage();
      const taken = await Promise.all(Array.from({ length: concurrency }, sides[side]));
      if (round < warmUp) continue;
      times[side].push(...taken);
      const { user, system } = process.cpuUsage(before);
      cpu[side] += (user + system) / 1000;
    }
  }
  const [without, all] = [percentile(times.without, 50), percentile(times.with, 50)];
  const note = `p50 ${without.toFixed(2)} ms without, ${all.toFixed(2)} ms with`;
  const cpuMs = (cpu.with - cpu.without) / (rounds * concurrency);
  const at = `${concurrency} at once`;
  return [
    { measure: `what they add at ${at}, p50`, value: all - without, unit: "ms", max: 2, note },
    { measure: `CPU that they add to a request at ${at}`, value: cpuMs, unit: "ms" },
  ];
}

function bare(modelUrl: string): FirstToken {
  const fields = { model: "bench", apiKey: "bench", maxRetries: 0, configuration: { baseURL: modelUrl } };
  const model = new ChatOpenAI(fields);
  return async () => {
    const started = performance.now();
    return await firstWords(model, started);
  };
}

function withPolicies(modelUrl: string, folder: string): FirstToken {
  // Limits that bound nothing: what they cost is the way through them.
  writeFileSync(
    join(folder, "models.yaml"),
    "providers:\n  openai: { max_concurrent: 64, requests_per_second: 100000 }\n",
  );
  const config = loadConfig({ OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: "bench", MILLRACE_DATA_DIR: folder });
  const services = new ModelServices();
  const models = openModels(config, { error: (problem: unknown) => console.error(problem) });
  const load = createModelLoader(config, { models, services });
  return async () => {
    const started = performance.now();
    const model = load("openai:bench", {});
    return await callWithRetry((signal) => firstWords(model, started, signal), {
      signal: never,
      target: modelTarget(model),
    });
  };
}

/** Reads the whole answer, so that no request is left behind. */
async function firstWords(model: BaseChatModel, started: number, signal = never): Promise<number> {
  let first = Number.NaN;
  for await (const chunk of await model.stream("hello", { signal })) {
    if (Number.isNaN(first) && chunk.text !== "") first = performance.now() - started;
  }
  return first;
}
