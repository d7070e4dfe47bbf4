import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { countMessages } from "../../src/context/tokens.ts";
import { workflow } from "../../src/graph/workflow.ts";
import { servicesKey, type RunServices } from "../../src/loop/services.ts";
import { createSqliteStorage } from "../../src/storage/sqlite/storage.ts";
import { createLocks } from "../../src/tools/locks.ts";
import { skipIdleTracing } from "../../src/tracing.ts";
import type { Figure, Section } from "./figures.ts";
import { percentile } from "./load.ts";

/** Tokens that the model may read, and the fact that is told it in the third turn. */
const limit = 32_768;
const fact = "The vault opens with 4711.";
const question = "How does the vault open?";

/** Answers at once with 1 KB, and looks at all it was sent. */
class WatchingModel extends BaseChatModel {
  most = 0;

  override _llmType(): string {
    return "watching";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    _manager?: CallbackManagerForLLMRun,
  ): Promise<ChatResult> {
    this.most = Math.max(this.most, countMessages(messages));
    const message = this.answer(messages);
    return { generations: [{ text: message.text, message }] };
  }

  private answer(messages: BaseMessage[]): AIMessage {
    const last = messages.at(-1);
    if (messages[0]?.text.includes("<!-- task: compress -->") === true) return new AIMessage('{"goal": "talk on"}');
    if (last?.text.includes(question) === true) {
      const call = { id: "call_fact", name: "read_history", args: { query: "vault opens" } };
      return new AIMessage({ content: "", tool_calls: [call] });
    }
    if (last?.getType() === "tool") return new AIMessage(last.text.includes(fact) ? fact : "I do not know.");
    return new AIMessage("Word after word. ".repeat(60));
  }
}

/** A session of so many turns of 2 KB through the whole workflow, over our storage, with a model that takes no time. */
export async function measureLongSession(turns: number): Promise<Section> {
  skipIdleTracing();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "millrace-bench-")));
  const storage = createSqliteStorage(join(folder, "bench.db"));
  try {
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
    const model = new WatchingModel({});
    const services: RunServices = {
      ledger: storage.ledger,
      tasks: storage.tasks,
      workspace: folder,
      locks: createLocks(),
      defaultModel: "watching",
      contextLimit: limit,
      loadModel: () => model,
    };
    const graph = workflow.compile({ checkpointer: storage.checkpointer });
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
      figures: await figures(turns, model, send),
    };
  } finally {
    await storage.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function figures(
  turns: number,
  model: WatchingModel,
  send: (text: string) => Promise<string>,
): Promise<Figure[]> {
  const times: number[] = [];
  for (let turn = 1; turn < turns; turn += 1) {
    const before = process.cpuUsage();
    await send(`Turn ${turn}. ${turn === 3 ? fact : ""} ${"Tell me more about it. ".repeat(44)}`);
    const { user, system } = process.cpuUsage(before);
    times.push((user + system) / 1000);
  }
  const found = await send(question);
  const last = times.slice(-50);
  return [
    { measure: "most that the model was sent", value: model.most, unit: "tokens", max: limit },
    {
      measure: "the fact of turn 3 is found in the last turn",
      value: found.includes(fact) ? 1 : 0,
      unit: "of 1",
      min: 1,
    },
    { measure: "own time of a turn, the first 50, CPU, p50", value: percentile(times.slice(0, 50), 50), unit: "ms" },
    { measure: "own time of a turn, the last 50, CPU, p50", value: percentile(last, 50), unit: "ms", max: 10 },
  ];
}
