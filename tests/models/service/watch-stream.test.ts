import { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { describe, expect, it } from "vitest";
import { brokeMidStream, watchStream } from "@millrace/models/resilience/watch-stream";

function chunk(text: string, info: Record<string, string> = {}): ChatGenerationChunk {
  return new ChatGenerationChunk({ text, message: new AIMessageChunk({ content: text, response_metadata: info }) });
}

/** Reads a stream to its end or failure. */
async function read(stream: AsyncGenerator<ChatGenerationChunk>): Promise<{ text: string; error: unknown }> {
  let text = "";
  try {
    for await (const piece of stream) text += piece.text;
    return { text, error: undefined };
  } catch (error) {
    return { text, error };
  }
}

/** Waits for ever, whatever the signal says, as some clients do. */
async function* deaf(...texts: string[]): AsyncGenerator<ChatGenerationChunk> {
  for (const text of texts) yield chunk(text);
  await new Promise<never>(() => undefined);
}

it("passes a finished stream on as it is", async () => {
  async function* whole(): AsyncGenerator<ChatGenerationChunk> {
    yield chunk("one ");
    yield chunk("two", { finish_reason: "stop" });
  }
  expect(await read(watchStream(whole, { signal: undefined }))).toEqual({ text: "one two", error: undefined });
});

it("gives up on silence after the beginning, keeps what came and ends the request", async () => {
  let signal: AbortSignal | undefined;
  const open = (given: AbortSignal): AsyncGenerator<ChatGenerationChunk> => {
    signal = given;
    return deaf("one ");
  };
  const { text, error } = await read(
    watchStream(open, { signal: undefined, timeouts: { firstTokenMs: 5000, idleMs: 5, totalMs: 5000 } }),
  );
  expect(text).toBe("one ");
  expect(error).toMatchObject({ code: "timeout", recoverable: true });
  expect(brokeMidStream(error)).toBe(true);
  expect(signal?.aborted).toBe(true);
});

describe("what a reader is advised (LLM-06)", () => {
  const thought = (text: string): ChatGenerationChunk => {
    const message = new AIMessageChunk({ content: "", additional_kwargs: { reasoning_content: text } });
    return new ChatGenerationChunk({ text: "", message });
  };
  async function* silentAfter(...chunks: ChatGenerationChunk[]): AsyncGenerator<ChatGenerationChunk> {
    yield* chunks;
    await new Promise<never>(() => undefined);
  }

  it.each<[string, ChatGenerationChunk[], object, string, string]>([
    ["before anything", [], { firstTokenMs: 5 }, "said nothing for 0.005 s.", "first_token_seconds"],
    [
      "in its thoughts",
      [thought("Hm, ")],
      { idleMs: 5 },
      "fell silent in the middle of its answer for 0.005 s, while it was still thinking.",
      "(idle_seconds of the model), or let it answer without thinking",
    ],
    [
      "in its words",
      [thought("Hm, "), chunk("So")],
      { idleMs: 5 },
      "fell silent in the middle of its answer for 0.005 s.",
      "(idle_seconds of the model); a smaller",
    ],
    [
      "as a whole, in its thoughts",
      [thought("Hm, ")],
      { totalMs: 20 },
      "gave no whole answer in 0.02 s, while it was still thinking.",
      "(total_seconds of the model), or let it answer without thinking",
    ],
  ])("of a model that is too late %s", async (_name, chunks, shorter, message, advice) => {
    const timeouts = { firstTokenMs: 5000, idleMs: 5000, totalMs: 5000, ...shorter };
    const pieces: ChatGenerationChunk[] = [];
    const stream = watchStream(() => silentAfter(...chunks), { signal: undefined, timeouts });
    const reading = (async () => {
      for await (const piece of stream) pieces.push(piece);
    })();
    await expect(reading).rejects.toMatchObject({
      code: "timeout",
      message: `The model ${message}`,
      suggestion: expect.stringContaining(advice),
    });
    expect(pieces).toEqual(chunks);
  });
});

it("ends at once with the reader's signal, also where the client does not listen to it", async () => {
  const stop = new AbortController();
  const reading = read(watchStream(() => deaf(), { signal: stop.signal }));
  stop.abort(new Error("enough"));
  const { error } = await reading;
  expect(error).toMatchObject({ message: "enough" });
  expect(brokeMidStream(error)).toBe(false);
});

it("does not take an answer without a closing mark for whole", async () => {
  async function* half(): AsyncGenerator<ChatGenerationChunk> {
    yield chunk("one ");
  }
  const { text, error } = await read(watchStream(half, { signal: undefined }));
  expect(text).toBe("one ");
  expect(error).toMatchObject({ code: "network" });
  expect(brokeMidStream(error)).toBe(true);
});

it("ends the request when the reader leaves early", async () => {
  let signal: AbortSignal | undefined;
  const open = (given: AbortSignal): AsyncGenerator<ChatGenerationChunk> => {
    signal = given;
    return deaf("one ", "two ");
  };
  for await (const piece of watchStream(open, { signal: undefined })) {
    expect(piece.text).toBe("one ");
    break;
  }
  expect(signal?.aborted).toBe(true);
});

describe("an answer that comes too late", () => {
  const long = { firstTokenMs: 5000, idleMs: 5000, totalMs: 5000 };
  const mark = (): ChatGenerationChunk => chunk("", {});
  /** What is no content, again and again. */
  async function* keepAlive(...texts: string[]): AsyncGenerator<ChatGenerationChunk> {
    for (const text of texts) yield chunk(text);
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield mark();
    }
  }

  it.each([
    ["without a first word", keepAlive(), { firstTokenMs: 5 }, "", "said nothing"],
    ["silent in the middle, kept alive by nothing", keepAlive("one "), { idleMs: 5 }, "one ", "fell silent"],
    ["without an end", keepAlive("one "), { totalMs: 5 }, "one ", "no whole answer"],
  ])("%s is given up", async (_name, chunks, shorter, expectedText, says) => {
    const { text, error } = await read(
      watchStream(() => chunks, { signal: undefined, timeouts: { ...long, ...shorter } }),
    );
    expect(text).toBe(expectedText);
    expect(error).toMatchObject({ code: "timeout", message: expect.stringContaining(says) });
    expect(brokeMidStream(error)).toBe(expectedText !== "");
  });

  it("and never ends is cut off where no model writes more", async () => {
    async function* endless(): AsyncGenerator<ChatGenerationChunk> {
      for (;;) yield chunk("x".repeat(500_000));
    }
    const { text, error } = await read(watchStream(endless, { signal: undefined, timeouts: long }));
    expect(error).toMatchObject({ code: "too_large" });
    expect(text.length).toBe(2_500_000);
  });
});
