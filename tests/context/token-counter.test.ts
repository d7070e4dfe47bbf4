import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { afterEach, describe, expect, it } from "vitest";
import { countMessagesExactly, createTokenCounter, type TokenCounter } from "../../src/context/tokens/token-counter.ts";
import { countMessage, countText, weighMessage } from "../../src/context/tokens/tokens.ts";
import { readSource, sourceFiles } from "../support/source-files.ts";

let open: TokenCounter | undefined;
const warnings: string[] = [];
const logger = { warn: (_fields: object, name: string) => warnings.push(name) };
const { signal } = new AbortController();

function counter(file?: URL): TokenCounter {
  // The counter gives an object and a name; pino's type allows more forms.
  open = createTokenCounter(logger as never, file);
  return open;
}

afterEach(async () => {
  await open?.close();
  open = undefined;
  warnings.length = 0;
});

describe("counting exactly", () => {
  it.each([
    ["hello world", 2],
    ["", 0],
    ["你好，世界", 6],
    ["plain <|endoftext|> text", 8],
  ])("says what the encoding makes of %j", async (text, tokens) => {
    expect(await counter().count(text, signal)).toEqual({ tokens, method: "exact" });
  });

  it("counts a long text in pieces as it counts it whole", async () => {
    const sentence = "The quick brown fox, 42 jumps! over lazy dogs.\n";
    const one = await counter().count(sentence, signal);
    const many = await open?.count(sentence.repeat(2000), signal);
    expect(many?.tokens).toBe(one.tokens * 2000);
  });

  it("answers each of many at once, and works again after it was closed", async () => {
    const counting = counter();
    const texts = Array.from({ length: 50 }, (_, index) => "word ".repeat(index + 1).trim());
    const all = await Promise.all(texts.map((text) => counting.count(text, signal)));
    expect(all.map(({ tokens }) => tokens)).toEqual(texts.map((_, index) => index + 1));
    await counting.close();
    expect(await counting.count("again", signal)).toEqual({ tokens: 1, method: "exact" });
  });

  it("stops waiting when the signal aborts", async () => {
    const stop = new AbortController();
    const counted = counter().count("x ".repeat(500_000), stop.signal);
    stop.abort(new Error("enough"));
    await expect(counted).rejects.toThrow("enough");
    await expect(open?.count("x", stop.signal)).rejects.toThrow("enough");
  });

  it("estimates where the encoding cannot be loaded, and warns once", async () => {
    const counting = counter(new URL("file:///nowhere/count-worker.ts"));
    const text = "twelve chars";
    const estimate = { tokens: countText(text), method: "estimate" };
    expect(await Promise.all([counting.count(text, signal), counting.count(text, signal)])).toEqual([
      estimate,
      estimate,
    ]);
    expect(await counting.count(text, signal)).toEqual(estimate);
    expect(warnings).toEqual(["tokens_are_estimated"]);
  });

  it("adds to messages what each of them costs beside its words", async () => {
    const reply = new AIMessage({
      content: "hello world",
      additional_kwargs: { reasoning_content: "hello world" },
      tool_calls: [{ id: "c", name: "hello", args: {}, type: "tool_call" }],
    });
    const image = { type: "image_url", image_url: { url: "https://example.test/a.png" } };
    const request = new HumanMessage({ content: [{ type: "text", text: "hello world" }, image] });
    const messages = [new SystemMessage("hello world"), request, reply];
    expect(await countMessagesExactly(messages, counter(), signal)).toEqual({
      tokens: 2 + 11 + (2 + 7 + 85 + 4 * 170) + (2 + 2 + 2 + 7),
      method: "exact",
    });
  });
});

describe("one counter for the whole service (TOKEN-01)", () => {
  const sources = sourceFiles().map(readSource);

  it("loads the encoding in its own thread, and nowhere else", () => {
    const loading = sources.filter(({ imports }) => imports.some((name) => name.startsWith("gpt-tokenizer")));
    expect(loading.map(({ path }) => path)).toEqual(["src/context/tokens/count-worker.ts"]);
  });

  it("is the only one that makes tokens of characters, beside the model that plays a provider", () => {
    const reckoning = sources.filter(({ text }) =>
      /(?:length|chars|characters|total)\b[^;\n]*\/ ?(?:4|1\.5|3\.5)\b/iu.test(text),
    );
    expect(reckoning.map(({ path }) => path)).toEqual([
      "src/context/tokens/tokens.ts",
      "packages/offline/src/offline.ts",
      // Bytes of a text in base64.
      "toolkits/mcp/mcp-tool.ts",
    ]);
  });
});

describe("weighing a message", () => {
  it("counts reasoning, calls and images separately from text", () => {
    const message = new AIMessage({
      content: "abcdefgh",
      additional_kwargs: { reasoning_content: "abcdefghabcd" },
      tool_calls: [{ id: "c", name: "read", args: { a: 1 }, type: "tool_call" }],
    });
    expect(weighMessage(message)).toEqual({
      content: 2,
      images: 0,
      reasoning: 3,
      calls: 3,
      overhead: 7,
      total: 15,
    });
  });

  it("gives a system message four tokens more, and an image what its size costs, however long its data is", () => {
    expect(countMessage(new SystemMessage("abcd")) - countMessage(new HumanMessage("abcd"))).toBe(4);
    const url = `data:image/png;base64,${"A".repeat(100_000)}`;
    const message = new HumanMessage({ content: [{ type: "image_url", image_url: { url } }] });
    expect(weighMessage(message)).toMatchObject({ content: 0, images: 85 + 4 * 170 });
  });
});
