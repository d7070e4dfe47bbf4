import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { ChatMessage, HumanMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { loadConfig } from "@millrace/engine/config/config";
import { workflow } from "../../../src/graph/workflow.ts";
import { servicesKey, type RunServices } from "../../../src/loop/services.ts";
import { createModelLoader } from "@millrace/models/load-model";
import { createSqliteStorage } from "@millrace/engine/storage/sqlite/storage";
import { createLocks } from "../../../src/tools/runtime/locks.ts";
import { skipIdleTracing } from "@millrace/engine/tracing";
import type { Figure, Section } from "../figures.ts";
import { projectFolder } from "../../support/source-files.ts";
import { percentile } from "./load.ts";
import { fact, question } from "./long-session-model.ts";
import { toolkitParts } from "../../support/toolkit-services.ts";

/** Tokens that the model may read. */
const limit = 32_768;

/**
 * A session of so many turns of 2 KB through the whole workflow, over our storage, with the scripted model behind its real
 * client. Our own time is the CPU time of this process beyond what that client takes for the same request when it is asked
 * alone: the model has a process of its own.
 */
export async function measureLongSession(turns: number): Promise<Section> {
  skipIdleTracing();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-bench-")));
  const storage = createSqliteStorage(join(folder, "bench.db"));
  const model = fork(join(projectFolder, "tests/bench/servers/long-session-model.ts"));
  try {
    const [url] = await once(model, "message");
    await storage.sessions.create({
      session_id: "long",
      created_at: new Date().toISOString(),
      updated_at: new Date().toISOString(),
      metadata: {},
      config: {},
      status: "idle",
      interrupts: {},
      owner: null,
    });
    const services: RunServices = {
      ledger: storage.manualCalls.ledger,
      ...toolkitParts(folder, storage.tasks),
      workspace: folder,
      locks: createLocks(),
      defaultModel: "openai:scripted",
      contextLimit: limit,
      loadModel: createModelLoader(loadConfig({ OPENAI_API_KEY: "bench", OPENAI_BASE_URL: String(url) })),
    };
    // As a run of the server has it, but for events: the writes of a step and its checkpoint are one transaction.
    const ofNoRun = storage.attempt({ session_id: "long", run_id: "", attempt: undefined });
    const checkpointer = ofNoRun.checkpointer({ flushWith: (write) => write([], []) });
    const graph = workflow.compile({ checkpointer });
    const send = async (text: string): Promise<string> => {
      const { messages } = await graph.invoke(
        { messages: [new HumanMessage({ id: crypto.randomUUID(), content: text })] },
        {
          configurable: { thread_id: "long", run_id: crypto.randomUUID(), [servicesKey]: services },
          // What a run leaves out has its defaults; LangGraph types the whole schema.
          context: { mode: "free_work" } as never,
          recursionLimit: 200,
        },
      );
      return messages.at(-1)?.text ?? "";
    };
    return {
      title: `A session of ${turns.toLocaleString("en")} turns of 2 KB`,
      figures: await figures(turns, send, {
        most: async () => Number(await answerOf(model, "most")),
        client: async () =>
          await clientAlone(String(url), Request.parse(await answerOf(model, "latest")), Math.min(50, turns)),
      }),
    };
  } finally {
    model.disconnect();
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function answerOf(model: ChildProcess, what: "most" | "latest"): Promise<unknown> {
  model.send(what);
  return (await once(model, "message"))[0];
}

/** A request as it reached the model. */
const Request = z.object({
  messages: z.array(z.looseObject({ role: z.string(), content: z.string().nullable() })),
  tools: z.array(z.looseObject({})).default([]),
});

/** Milliseconds of CPU that the client needs for the same request without other load, p50 of the later `rounds`. */
async function clientAlone(url: string, { messages, tools }: z.infer<typeof Request>, rounds: number): Promise<number> {
  const client = new ChatOpenAI({
    model: "scripted",
    apiKey: "bench",
    maxRetries: 0,
    configuration: { baseURL: url },
  });
  const prompt = messages.map(({ role, content }) => new ChatMessage({ role, content: content ?? "" }));
  const times: number[] = [];
  for (let round = 0; round < 2 * rounds; round += 1) {
    const before = process.cpuUsage();
    await client.invoke(prompt, { tools });
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  return percentile(times.slice(-rounds), 50);
}

async function figures(
  turns: number,
  send: (text: string) => Promise<string>,
  { most, client }: Record<"most" | "client", () => Promise<number>>,
): Promise<Figure[]> {
  const times: number[] = [];
  for (let turn = 1; turn < turns; turn += 1) {
    const before = process.cpuUsage();
    await send(`Turn ${turn}. ${turn === 3 ? fact : ""} ${"Tell me more about it. ".repeat(44)}`);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  const last = percentile(times.slice(-50), 50);
  const ofClient = await client();
  const found = await send(question);
  return [
    { measure: "most that the model was sent, tools included", value: await most(), unit: "tokens", max: limit },
    {
      measure: "the fact of turn 3 is found in the last turn",
      value: found.includes(fact) ? 1 : 0,
      unit: "of 1",
      min: 1,
    },
    { measure: "a turn of the first 50, CPU, p50", value: percentile(times.slice(0, 50), 50), unit: "ms" },
    { measure: "a turn of the last 50, CPU, p50", value: last, unit: "ms" },
    { measure: "the package's client alone, for the same request", value: ofClient, unit: "ms" },
    { measure: "own time of a turn, the last 50", value: last - ofClient, unit: "ms", max: 10 },
  ];
}
