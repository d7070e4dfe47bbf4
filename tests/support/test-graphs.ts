import { setImmediate as nextTurn } from "node:timers/promises";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { tool } from "@langchain/core/tools";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  END,
  getStore,
  interrupt,
  MessagesValue,
  ReducedValue,
  START,
  StateGraph,
  StateSchema,
  StreamChannel,
  type LangGraphRunnableConfig,
  type StreamTransformer,
} from "@langchain/langgraph";
import { z } from "zod";

const Count = new StateSchema({ value: z.number().default(0) });

/** Adds one. */
export const counter = new StateGraph(Count)
  .addNode("add", (state) => ({ value: state.value + 1 }))
  .addEdge(START, "add")
  .addEdge("add", END);

const Conversation = new StateSchema({ messages: MessagesValue });

/** Answers every message with "Hello there", streamed letter by letter. */
export const talker = new StateGraph(Conversation)
  .addNode("talk", async (state) => ({
    messages: [await new FakeListChatModel({ responses: ["Hello there"] }).invoke(state.messages)],
  }))
  .addEdge(START, "talk")
  .addEdge("talk", END);

/** A model of a user's own: says "begin" letter by letter under one id, or, asked to look, calls a tool in three pieces. */
class Speller extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType(): string {
    return "speller";
  }

  async _generate(): Promise<never> {
    throw new Error("This model is only asked by who wants its pieces.");
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const id = crypto.randomUUID();
    const look = [
      { index: 0, id: "look-1", name: "look", args: "" },
      ...['{"at":', '"it"}'].map((args) => ({ index: 0, args })),
    ];
    const pieces =
      messages.at(-1)?.content === "look"
        ? look.map((call) => ({ content: "", tool_call_chunks: [call] }))
        : Array.from("begin", (content) => ({ content }));
    for (const piece of pieces) {
      const chunk = new ChatGenerationChunk({ text: piece.content, message: new AIMessageChunk({ id, ...piece }) });
      await manager?.handleLLMNewToken(piece.content, undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}

/** Asks the model of a user's own, without streaming it. */
export const speller = new StateGraph(Conversation)
  .addNode("spell", async (state) => ({ messages: [await new Speller().invoke(state.messages)] }))
  .addEdge(START, "spell")
  .addEdge("spell", END);

/** Counts what the model says: while it says it on a channel, and at last as a number; the texts of all messages as a list. */
function counting(): StreamTransformer<object> {
  const letters = Promise.withResolvers<number>();
  const texts = Promise.withResolvers<string[]>();
  const running = StreamChannel.remote<number>("running");
  let count = 0;
  const blocks: string[] = [];
  return {
    init: () => ({ running, letters: letters.promise, texts: texts.promise }),
    process({ method, params }) {
      if (method !== "messages") return true;
      const { data } = z
        .object({ data: z.looseObject({ event: z.string(), content: z.looseObject({ text: z.string() }).optional() }) })
        .parse(params);
      if (data.event === "content-block-delta") running.push((count += 1));
      if (data.event === "content-block-finish") blocks.push(data.content?.text ?? "");
      return true;
    },
    finalize() {
      letters.resolve(count);
      texts.resolve(blocks);
    },
  };
}

/** Asks the model of a user's own, and has its words counted. */
export const counted = new StateGraph(Conversation)
  .addNode("spell", async (state) => ({ messages: [await new Speller().invoke(state.messages)] }))
  .addEdge(START, "spell")
  .addEdge("spell", END)
  .compile({ transformers: [counting] });

/** Its transformer fails at the first thing that it sees. */
export const miscounted = new StateGraph(Count)
  .addNode("add", (state) => ({ value: state.value + 1 }))
  .addEdge(START, "add")
  .addEdge("add", END)
  .compile({
    transformers: [
      () => ({
        init: () => ({ never: Promise.withResolvers<void>().promise }),
        process: () => {
          throw new Error("miscounted");
        },
      }),
    ],
  });

const innerSpeller = speller.compile();

/** A conversation that always fails. */
export const broken = new StateGraph(Conversation)
  .addNode("fail", () => {
    throw new RangeError("out of luck");
  })
  .addEdge(START, "fail")
  .addEdge("fail", END);

const OpenAiRequest = z.object({
  openai: z.object({
    temperature: z.number().optional(),
    tools: z.array(z.object({ function: z.object({ name: z.string() }) })).default([]),
  }),
});

/** Calls the tool that the client offers, with the temperature it asks for, and says what it gave. */
export const caller = new StateGraph(Conversation)
  .addNode("call", (state, config: LangGraphRunnableConfig) => {
    const last = state.messages.at(-1);
    if (last?.getType() === "tool") return { messages: [new AIMessage(`You said: ${last.text}`)] };
    const { tools, temperature } = OpenAiRequest.parse(config.configurable).openai;
    const tool_calls = tools.map(({ function: { name } }, index) => ({
      id: `call-${index + 1}`,
      name,
      args: { temperature },
    }));
    return { messages: [new AIMessage({ content: "", tool_calls })] };
  })
  .addEdge(START, "call")
  .addEdge("call", END);

/** One node that is a graph with a model, and one that calls such a graph and answers with its last message. */
export const nestedSpeller = new StateGraph(Conversation)
  .addNode("inside", innerSpeller)
  .addNode("caller", async (state) => ({ messages: [(await innerSpeller.invoke(state)).messages.at(-1)] }), {
    subgraphs: [innerSpeller],
  })
  .addEdge(START, "inside")
  .addEdge("inside", "caller")
  .addEdge("caller", END);

const Question = new StateSchema({ answer: z.string().default("") });

/** Asks, and keeps the answer. */
export const asker = new StateGraph(Question)
  .addNode("ask", () => ({ answer: String(interrupt({ question: "Go on?" })) }))
  .addEdge(START, "ask")
  .addEdge("ask", END);

/** Adds one for ever. */
export const looping = new StateGraph(Count)
  .addNode("add", (state) => ({ value: state.value + 1 }))
  .addEdge(START, "add")
  .addEdge("add", "add");

/** Always fails. */
export const failing = new StateGraph(Count)
  .addNode("fail", () => {
    throw new RangeError("out of luck");
  })
  .addEdge(START, "fail")
  .addEdge("fail", END);

type Gates = Map<string, PromiseWithResolvers<void>>;
// This module may be there twice: a copy of it is that of a folder with packages of its own.
const shared = globalThis as typeof globalThis & { testGates?: Gates };
/** Gates that `gated` runs wait at, by the name in their input. */
const gates: Gates = (shared.testGates ??= new Map());

/** Opens a gate for the runs that wait at it, now or later. */
export function openGate(name: string): void {
  gate(name).resolve();
}

function gate(name: string): PromiseWithResolvers<void> {
  const known = gates.get(name) ?? Promise.withResolvers<void>();
  gates.set(name, known);
  return known;
}

/** A model that says 2 MB for each gate `<last message>-<number>` that opens, without an end. */
class Shouter extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType(): string {
    return "shouter";
  }

  async _generate(): Promise<never> {
    throw new Error("This model only streams.");
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    manager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const id = crypto.randomUUID();
    const text = "x".repeat(20_000);
    for (let at = 0; ; at += 1) {
      if (at % 100 === 0) await gate(`${messages.at(-1)?.text}-${at / 100}`).promise;
      const chunk = new ChatGenerationChunk({ text, message: new AIMessageChunk({ id, content: text }) });
      await manager?.handleLLMNewToken(text, undefined, undefined, undefined, undefined, { chunk });
      if (at % 10 === 0) await nextTurn();
      yield chunk;
    }
  }
}

/** Says as much as the test lets it. */
export const shouter = new StateGraph(Conversation)
  .addNode("shout", async (state) => ({ messages: [await new Shouter().invoke(state.messages)] }))
  .addEdge(START, "shout")
  .addEdge("shout", END);

const Gated = new StateSchema({ gate: z.string().default(""), passed: z.boolean().default(false) });

/** Emits an event, waits until its gate opens or it is stopped, and emits another one. */
export const gated = new StateGraph(Gated)
  .addNode("wait", async (state, config: LangGraphRunnableConfig) => {
    config.writer?.({ at: "gate" });
    const stopped = Promise.withResolvers<never>();
    const onAbort = (): void => stopped.reject(new Error("stopped"));
    config.signal?.addEventListener("abort", onAbort);
    try {
      await Promise.race([gate(state.gate).promise, stopped.promise]);
    } finally {
      config.signal?.removeEventListener("abort", onAbort);
    }
    config.writer?.({ at: "other side" });
    return { passed: true };
  })
  .addEdge(START, "wait")
  .addEdge("wait", END);

const inner = new StateGraph(Conversation)
  .addNode("speak", (_state, config: LangGraphRunnableConfig) => {
    config.writer?.({ said: "in the subgraph" });
    return { messages: [new AIMessage({ content: "from inside", id: crypto.randomUUID() })] };
  })
  .addEdge(START, "speak")
  .addEdge("speak", END)
  .compile();

/** One node that is a graph. */
export const nested = new StateGraph(Conversation)
  .addNode("inside", inner)
  .addEdge(START, "inside")
  .addEdge("inside", END);

/** A graph of two nodes, in one of two nodes, in one of one. */
export const deep = new StateGraph(Count)
  .addNode(
    "outer",
    new StateGraph(Count)
      .addNode("first", (state) => ({ value: state.value + 1 }))
      .addNode(
        "inner",
        new StateGraph(Count)
          .addNode("second", (state) => ({ value: state.value + 1 }))
          .addNode("third", (state) => ({ value: state.value + 1 }))
          .addEdge(START, "second")
          .addEdge("second", "third")
          .addEdge("third", END)
          .compile(),
      )
      .addEdge(START, "first")
      .addEdge("first", "inner")
      .addEdge("inner", END)
      .compile(),
  )
  .addEdge(START, "outer")
  .addEdge("outer", END);

/** One node that is a graph, which fails. */
export const nestedFailing = new StateGraph(Count)
  .addNode("inside", failing.compile())
  .addEdge(START, "inside")
  .addEdge("inside", END);

const sum = tool(({ left, right }) => String(left + right), {
  name: "add",
  schema: z.object({ left: z.number(), right: z.number() }),
});
const unlucky = tool(
  () => {
    throw new Error("no luck");
  },
  { name: "fail", schema: z.object({}) },
);

/** Calls two tools of LangChain's, one after the other: one adds, one fails and is forgiven. */
export const toolUser = new StateGraph(Conversation)
  .addNode("work", async (_state, config: LangGraphRunnableConfig) => {
    await sum.invoke({ type: "tool_call", id: "call-1", name: "add", args: { left: 1, right: 2 } }, config);
    await unlucky.invoke({ type: "tool_call", id: "call-2", name: "fail", args: {} }, config).catch(() => undefined);
    return {};
  })
  .addEdge(START, "work")
  .addEdge("work", END);

/** One node that is a graph, which asks. */
export const nestedAsker = new StateGraph(Question)
  .addNode("inside", asker.compile())
  .addEdge(START, "inside")
  .addEdge("inside", END);

/** What a run was given: its configuration and its context. */
export const mirror = new StateGraph(new StateSchema({ seen: z.record(z.string(), z.unknown()).default({}) }))
  .addNode("look", (_state, config: LangGraphRunnableConfig) => {
    const keys = Object.entries(config.configurable ?? {}).filter(([name]) => !name.startsWith("__"));
    return { seen: { configurable: Object.fromEntries(keys), context: config.context } };
  })
  .addEdge(START, "look")
  .addEdge("look", END);

const Flood = new StateSchema({
  events: z.number().default(0),
  size: z.number().default(1),
  gate: z.string().default(""),
});

/** Emits `events` texts of `size` characters. With a gate, it waits there before the second half. */
export const flood = new StateGraph(Flood)
  .addNode("emit", async (state, config: LangGraphRunnableConfig) => {
    for (let at = 0; at < state.events; at += 1) {
      if (state.gate !== "" && at === state.events / 2) await gate(state.gate).promise;
      config.writer?.({ at, text: "x".repeat(state.size) });
      if (at % 10 === 0) await nextTurn();
    }
    return {};
  })
  .addEdge(START, "emit")
  .addEdge("emit", END);

const Kept = new StateSchema({ note: z.string().default(""), found: z.array(z.string()).default([]) });

const innerKeeper = new StateGraph(Kept)
  .addNode("look", async () => ({
    found: ((await getStore()?.search(["notes"], { limit: 100 })) ?? []).map(({ key }) => key),
  }))
  .addEdge(START, "look")
  .addEdge("look", END)
  .compile();

/** Keeps a note in the store under its own text, and finds all notes in a subgraph. */
export const keeper = new StateGraph(Kept)
  .addNode("keep", async (state, config: LangGraphRunnableConfig) => {
    await config.store?.put(["notes", "kept"], state.note, { text: state.note });
    return {};
  })
  .addNode("inside", innerKeeper)
  .addEdge(START, "keep")
  .addEdge("keep", "inside")
  .addEdge("inside", END)
  // Of its own it has one too; in runs it gets the server's.
  .compile({ store: new InMemoryStore() });

const Answers = new ReducedValue(
  z.array(z.string()).default(() => []),
  { inputSchema: z.array(z.string()), reducer: (left: string[], right: string[]) => [...left, ...right] },
);

const innerAsker = new StateGraph(new StateSchema({ answers: Answers }))
  .addNode("deep", () => ({ answers: [`deep: ${String(interrupt("How deep?"))}`] }))
  .addEdge(START, "deep")
  .addEdge("deep", END)
  .compile();

/** Asks at the root and in a subgraph at the same time; `answers` holds what came. */
export const twoDepths = new StateGraph(new StateSchema({ answers: Answers }))
  .addNode("shallow", () => ({
    answers: [`shallow: ${String(interrupt({ kind: "clarify", question: "Which one?" }))}`],
  }))
  .addNode(
    "outer",
    async (_state, config) => {
      const inside = await innerAsker.invoke({}, config);
      return { answers: inside.answers };
    },
    { subgraphs: [innerAsker] },
  )
  .addEdge(START, "shallow")
  .addEdge(START, "outer")
  .addEdge("shallow", END)
  .addEdge("outer", END);

/** Asks twice at the same time; the one fails with its answer, the other keeps it. */
export const touchy = new StateGraph(new StateSchema({ answers: Answers }))
  .addNode("left", () => {
    throw new RangeError(`left: ${String(interrupt("Left?"))}`);
  })
  .addNode("right", () => ({ answers: [`right: ${String(interrupt("Right?"))}`] }))
  .addEdge(START, "left")
  .addEdge(START, "right")
  .addEdge("left", END)
  .addEdge("right", END);
