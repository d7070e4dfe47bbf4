import { AIMessage, AIMessageChunk, HumanMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { concat } from "@langchain/core/utils/stream";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { loadConfig } from "@millrace/engine/config/config";
import { createModel } from "@millrace/models/load-model";
import { readChunks, readWhole } from "@millrace/models/text-calls/read-reply";
import { writingHabits } from "@millrace/models/text-calls/writing-habits";
import { startModelServer, type ModelServer, type ModelStep } from "@millrace/testing/model-server";
import { deepseek, dsml, invoke } from "./replies.ts";

const servers: ModelServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map(async (server) => await server.close()));
});

const tools = ["weather", "read_file"].map((name) => ({
  type: "function",
  function: {
    name,
    description: "d",
    parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } } },
  },
}));

/** The parts of a reply: text, thoughts and calls. */
interface Read {
  words: string;
  thoughts: unknown;
  calls: unknown[];
  broken: unknown[];
}

function inShort(message: AIMessage | AIMessageChunk): Read {
  return {
    words: message.text,
    thoughts: message.additional_kwargs["reasoning_content"],
    calls: (message.tool_calls ?? []).map(({ name, args }) => [name, args]),
    broken: (message.invalid_tool_calls ?? []).map(({ name }) => name),
  };
}

/** A model on a server of one's own, at the scripted one. */
async function start(name: string, ...script: ModelStep[]) {
  const server = await startModelServer({ script });
  servers.push(server);
  const config = loadConfig({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key" });
  const bound = createModel(`openai:${name}`, {}, config).bindTools?.(tools);
  if (bound === undefined) throw new Error("no tools");
  const ask = [new HumanMessage("Weather?")];
  return {
    server,
    whole: async () => inShort(await bound.invoke(ask)),
    streamed: async () => {
      const chunks: AIMessageChunk[] = [];
      for await (const chunk of await bound.stream(ask)) chunks.push(chunk);
      const sum = chunks.reduce((left, right) => concat(left, right));
      return { ...inShort(sum), texts: chunks.map(({ text }) => text) };
    },
  };
}

const call = ["weather", { city: "Oslo", days: 3 }];
const json = '{"city": "Oslo", "days": 3}';

describe("a reply of a model with calls of its own", () => {
  it.each<[string, string, string, Partial<Read>]>([
    ["thoughts", "small", "<think>Hm.</think>\n\nSunny.", { words: "Sunny.", thoughts: "Hm." }],
    ["thoughts amid the words", "small", "So.<think>Hm.</think> Sunny.", { words: "So.Sunny.", thoughts: "Hm." }],
    ["a thought that was cut off", "small", "<think>Hm. And", { words: "", thoughts: "Hm. And" }],
    ["only the end of a thought", "deepseek-r1:7b", "Hm.\n</think>\n\nSunny.", { words: "Sunny.", thoughts: "Hm.\n" }],
    ["a whole thought all the same", "qwq-32b", "<think>\nHm.</think>Sunny.", { words: "Sunny.", thoughts: "\nHm." }],
    [
      "nothing but words, in code",
      "small",
      "`<think>` and\n```\n<think>\n```",
      { words: "`<think>` and\n```\n<think>\n```" },
    ],
    [
      "DeepSeek's calls",
      "DeepSeek-V3.1",
      `So: ${deepseek.all(deepseek.short("weather", json))}`,
      { words: "So: ", calls: [call] },
    ],
    [
      "DeepSeek's older calls",
      "deepseek-v3",
      deepseek.all(deepseek.long("weather", json)),
      { words: "", calls: [call] },
    ],
    [
      "DeepSeek's markup, since V3.2",
      "DeepSeek-V3.2",
      `So:\n\n${dsml.all(dsml.call("weather", { city: "Oslo", days: 3 }))}`,
      { words: "So:\n\n", calls: [call] },
    ],
    [
      "DeepSeek's markup of V4, with plain bars, and no word of its types",
      "deepseek-v4",
      deepseek
        .plain(dsml.all(dsml.call("weather", { city: "Oslo", days: 3 })))
        .replaceAll("function_calls", "tool_calls")
        .replaceAll(/ string="\w+"/gu, ""),
      { words: "", calls: [call] },
    ],
    [
      "DeepSeek's markup around JSON",
      "deepseek-v3.2-exp",
      dsml.all(`<｜DSML｜invoke name="weather">\n${json}\n</｜DSML｜invoke>`),
      { words: "", calls: [call] },
    ],
    [
      "two of DeepSeek's calls, of which each value is as it was written",
      "deepseek-chat-v3.2",
      dsml.all(dsml.call("read_file", { path: "\n<p>&lt;12\n", lines: ["7"] }), dsml.call("weather", {})),
      {
        words: "",
        calls: [
          ["read_file", { path: "\n<p>&lt;12\n", lines: ["7"] }],
          ["weather", {}],
        ],
      },
    ],
    [
      "Mistral's thoughts",
      "Magistral-Small-2507",
      "[THINK]Hm. [1] so[/THINK]\n\nSunny.",
      { words: "Sunny.", thoughts: "Hm. [1] so" },
    ],
    [
      "Mistral's thoughts before its calls",
      "ministral-3-8b-reasoning",
      `[THINK]Hm.[/THINK][TOOL_CALLS]weather[ARGS]${json}`,
      { words: "", thoughts: "Hm.", calls: [call] },
    ],
    [
      "Mistral's list",
      "Mistral-7B",
      `[TOOL_CALLS] [{"name": "weather", "arguments": ${json}}]`,
      { words: "", calls: [call] },
    ],
    ["Mistral's names", "devstral", `Well.[TOOL_CALLS]weather[ARGS]${json}`, { words: "Well.", calls: [call] }],
    [
      "Qwen's call",
      "Qwen3-8B",
      `<tool_call>\n{"name": "weather", "arguments": ${json}}\n</tool_call>`,
      { words: "", calls: [call] },
    ],
    [
      "GLM's call, in the types of the tool",
      "glm-4",
      "<tool_call>weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>\n<arg_key>days</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
      { words: "", calls: [call] },
    ],
    ["half a call", "deepseek-v3", deepseek.short("weather", json).slice(0, -30), { words: "", broken: ["weather"] }],
    [
      "half a call of DeepSeek's markup",
      "deepseek-v3.2",
      dsml.all(dsml.call("weather", { city: "Oslo" })).slice(0, -60),
      { words: "", broken: ["weather"] },
    ],
    [
      "a broken call of DeepSeek's markup, and a whole one",
      "deepseek-v3.2",
      dsml.all(
        '<｜DSML｜invoke name="weather">\nOslo\n</｜DSML｜invoke>',
        dsml.call("weather", { city: "Oslo", days: 3 }),
      ),
      { words: "", broken: ["weather"], calls: [call] },
    ],
  ])("comes apart into words, thoughts and calls: %s", async (_, name, text, expected) => {
    const finish = name === "small" && text.endsWith("And") ? { finishReason: "length" } : {};
    const steps = [
      { text, ...finish },
      { chunks: text.split(""), ...finish },
      { text, ...finish },
    ];
    const model = await start(name, ...steps);
    const read = { thoughts: undefined, calls: [], broken: [], ...expected };
    expect(await model.streamed()).toMatchObject(read);
    expect(await model.streamed()).toMatchObject(read);
    expect(await model.whole()).toMatchObject(read);
  });

  it.each<[string, string, string]>([
    ["the form of another family", "gpt-4o", deepseek.all(deepseek.short("weather", json))],
    ["an unknown tool", "deepseek-v3", deepseek.all(deepseek.short("remove", json))],
    ["an unknown tool, in a list", "mistral-7b", `[TOOL_CALLS] [{"name": "remove", "arguments": {}}]`],
    ["an unknown tool, in DeepSeek's markup", "deepseek-v3.2", dsml.all(dsml.call("remove", {}))],
    [
      "words about DeepSeek's markup",
      "deepseek-v3.2",
      "<｜DSML｜ and <｜DSML｜function_calls> are its marks, </｜DSML｜invoke> too",
    ],
    ["words in brackets", "magistral", "[THINK about it], [TH] and [/THINK]"],
    ["an example in a code block", "deepseek-v3", `\`\`\`\n${deepseek.all(deepseek.short("weather", json))}\n\`\`\``],
    ["the grammars of models without calls", "qwen3", invoke("weather", { city: "Oslo" })],
    ["JSON", "mistral-7b", `{"tool": "weather", "arguments": ${json}}`],
  ])("holds no call: %s", async (_, name, text) => {
    const model = await start(name, { text }, { chunks: text.split("") });
    expect(await model.whole()).toMatchObject({ words: text, calls: [], broken: [] });
    expect(await model.streamed()).toMatchObject({ words: text, calls: [], broken: [] });
  });

  it("is sent on as it comes, and only held back where a tag may begin", async () => {
    const model = await start("small", { chunks: ["One ", "two ", "<b", ">", " <th", "ree"] });
    const { texts } = await model.streamed();
    expect(texts.filter((text) => text !== "")).toEqual(["One ", "two ", "<b", ">", " ", "<three"]);
  });

  it("keeps the thoughts of the server beside those of the words, and its calls", async () => {
    const step = {
      reasoning: "First.",
      text: "<think> Then.</think>Now.",
      toolCalls: [{ name: "weather", arguments: {} }],
    };
    const model = await start("small", step, step);
    const read = { words: "Now.", thoughts: "First. Then.", calls: [["weather", {}]] };
    expect(await model.streamed()).toMatchObject(read);
    expect(await model.whole()).toMatchObject(read);
  });

  it("keeps its usage and the reason of its end", async () => {
    const server = await startModelServer({
      script: [{ text: "<think>Hm.</think>Sunny.", usage: { input: 5, output: 7 } }],
    });
    servers.push(server);
    const config = loadConfig({ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "key" });
    const whole = await createModel("openai:small", {}, config).invoke([new HumanMessage("Weather?")]);
    expect(whole).toMatchObject({ usage_metadata: { input_tokens: 5, output_tokens: 7 } });
    expect(whole.response_metadata["finish_reason"]).toBe("stop");
  });
});

describe("a reply that begins in a thought", () => {
  it("is known by the names of such models, where the service does not keep thoughts apart", () => {
    for (const name of ["deepseek-r1:7b", "DeepSeek-R1-Distill-Qwen-7B", "QwQ-32B", "Qwen3-4B-Thinking-2507"]) {
      expect([name, writingHabits(name, false).opensInThought]).toEqual([name, true]);
      expect([name, writingHabits(name, true).opensInThought]).toEqual([name, false]);
    }
    for (const name of ["deepseek-v3", "qwen3:8b", "gpt-4o", "llama3.1:8b"]) {
      expect([name, writingHabits(name, false).opensInThought]).toEqual([name, false]);
    }
  });

  it("is sent as a thought while it streams, never as words", async () => {
    const model = await start("deepseek-r1:7b", { chunks: ["Hm", ", so", "me rain?</th", "ink>\n\n", "Sunny."] });
    const { texts, thoughts } = await model.streamed();
    expect(texts.join("")).toBe("Sunny.");
    expect(thoughts).toBe("Hm, some rain?");
  });

  it("is learnt from the first reply of an unknown model; one that is whole is read anew at once", async () => {
    const text = "Hm.\n</think>\n\nSunny.";
    const model = await start("unknown", { text }, { text }, { text });
    expect(await model.whole()).toMatchObject({ words: "Sunny.", thoughts: "Hm.\n" });
    expect((await model.streamed()).texts.join("")).toBe("Sunny.");
    expect(await model.whole()).toMatchObject({ words: "Sunny.", thoughts: "Hm.\n" });
  });

  it("is the answer after all where its thought never ends, and so are the next ones", async () => {
    const model = await start("qwq-32b", { text: "Sunny." }, { text: "It rains." }, { text: "Sunny." });
    expect(await model.streamed()).toMatchObject({ words: "Sunny.", thoughts: "Sunny." });
    expect(await model.streamed()).toMatchObject({ words: "It rains.", thoughts: undefined });
    expect(await model.whole()).toMatchObject({ words: "Sunny.", thoughts: undefined });
  });

  it("stays a thought where the length limit has cut it", async () => {
    const step = { text: "Hm, let me", finishReason: "length" };
    const model = await start("qwq-32b", step, step);
    expect(await model.streamed()).toMatchObject({ words: "", thoughts: "Hm, let me" });
    expect(await model.whole()).toMatchObject({ words: "", thoughts: "Hm, let me" });
  });

  it("is none where the server has kept the thoughts apart", async () => {
    const step = { reasoning: "Hm.", text: "Sunny." };
    const model = await start("qwq-32b", step, step);
    expect(await model.streamed()).toMatchObject({ words: "Sunny.", thoughts: "Hm." });
    expect(await model.whole()).toMatchObject({ words: "Sunny.", thoughts: "Hm." });
  });

  it("loses no words about such tags: what never ends is said as well", async () => {
    const text = "The tag <think> opens a thought.";
    const model = await start("small", { text }, { text });
    expect((await model.streamed()).words).toBe(text);
    expect((await model.whole()).words).toBe(text);
  });
});

const fragments = [
  deepseek.all(deepseek.short("weather", json)),
  deepseek.long("read_file", '{"path": "a"}'),
  `[TOOL_CALLS] [{"name": "weather", "arguments": ${json}}]`,
  "[TOOL_CALLS]read_file[ARGS]{}",
  dsml.all(dsml.call("weather", { city: "Oslo", days: 3 }), dsml.call("read_file", {})),
  "[THINK]Hm. [/THINK]\n",
  "[THINK]",
  `<tool_call>{"name": "weather", "arguments": ${json}}</tool_call>`,
  "<think>Hm. </think>",
  "<think>",
  "\n<think>",
  "</think>\n",
  "</think>",
  "Some words. ",
  "```\n",
  "\n```\n",
  "`",
  "<",
  "[",
  "\n",
];
const cutReply = fc
  .array(
    fc.tuple(fc.constantFrom(...fragments), fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true }))),
    {
      maxLength: 6,
    },
  )
  .map((parts) => parts.map(([text, share]) => text.slice(0, Math.ceil(text.length * share))).join(""))
  .chain((text) =>
    fc
      .array(fc.nat({ max: text.length }), { maxLength: 12 })
      .map((places) => [...places, text.length].toSorted((a, b) => a - b))
      .map((places) => ({ text, pieces: places.map((place, at) => text.slice(places[at - 1] ?? 0, place)) })),
  );

it("comes to the same words, thoughts and calls wherever a stream was cut into chunks", async () => {
  const forms = new Set(["deepseek", "mistral", "tool_call"] as const);
  const names = ["weather", "read_file"];
  await fc.assert(
    fc.asyncProperty(cutReply, fc.boolean(), fc.constantFrom("stop", "length"), async (reply, opensInThought, end) => {
      const stream = async (pieces: string[]): Promise<Read> => {
        const chunks = async function* (): AsyncGenerator<ChatGenerationChunk> {
          for (const text of pieces) yield new ChatGenerationChunk({ text, message: new AIMessageChunk(text) });
          const message = new AIMessageChunk({ content: "", response_metadata: { finish_reason: end } });
          yield new ChatGenerationChunk({ text: "", message });
        };
        let sum = new AIMessageChunk("");
        const habits = { forms, opensInThought };
        for await (const { message } of readChunks(chunks(), { names, tools: new Map(), habits })) {
          if (message instanceof AIMessageChunk) sum = concat(sum, message);
        }
        return inShort(sum);
      };
      const once = await stream([reply.text]);
      expect(await stream(reply.pieces)).toEqual(once);
      // What only the end of a thought has shown is known too late in a stream, also where the rest has taken it back.
      let opens = opensInThought;
      let isLearnt = false;
      const habits = {
        forms,
        get opensInThought(): boolean {
          return opens;
        },
        set opensInThought(learnt: boolean) {
          isLearnt ||= learnt !== opens;
          opens = learnt;
        },
      };
      const message = new AIMessage({ content: reply.text, response_metadata: { finish_reason: end } });
      const whole = readWhole({ text: reply.text, message }, { names, tools: new Map(), habits });
      if (!isLearnt) expect(inShort(whole.message as AIMessage)).toEqual(once);
    }),
    { numRuns: 3000 },
  );
});
