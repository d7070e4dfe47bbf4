import { AIMessage, HumanMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toTitle } from "../../../src/sessions/overview/title-writer.ts";
import { nameOf, SessionName, shorten, titleFrom } from "@millrace/engine/sessions/messages/conversation";

const session = (metadata: Record<string, unknown> = {}) => ({ metadata, created_at: "2026-03-04T05:06:07.890Z" });

describe("a title by rule", () => {
  it.each([
    ["Summarise the report", "Summarise the report"],
    ["Summarise the report. Then send it to Ada.", "Summarise the report"],
    ["## **Plan** the `week`", "Plan the week"],
    ["- buy milk\n- buy bread", "buy milk"],
    ["see [the notes](https://example.com/a/b) please", "see the notes please"],
    ["```ts\nconst a = 1;\n```\nWhy does this fail?", "Why does this fail"],
    ["```ts\nconst a = 1;\n```", "ts"],
    ["version 3.2 is out! Hooray", "version 3.2 is out"],
    ["帮我设计一个增益20dB的放大器。谢谢", "帮我设计一个增益20dB的放大器"],
    ["Tell me about the history of the lighthouse of Alexandria in detail", "Tell me about the history of the…"],
    ["a".repeat(100), `${"a".repeat(39)}…`],
    ["\u202Eevil\u0000 text", "evil text"],
  ])("of %j is %j", (text, title) => {
    expect(titleFrom(text)).toBe(title);
  });

  it.each(["", "  \n ", "?!…", "***", "🎉🎉"])("of %j there is none", (text) => {
    expect(titleFrom(text)).toBeUndefined();
  });

  it("is one short line that is a name, whatever was said", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme", maxLength: 300 }), (text) => {
        const title = titleFrom(text);
        if (title === undefined) return;
        expect(SessionName.safeParse(title).success).toBe(true);
        expect(Array.from(new Intl.Segmenter().segment(title)).length).toBeLessThanOrEqual(40);
      }),
    );
  });

  it("does not cut through a character that is written with several", () => {
    expect(shorten("👩‍👩‍👧‍👦".repeat(5), 3)).toBe(`${"👩‍👩‍👧‍👦".repeat(2)}…`);
  });
});

describe("the name of a session", () => {
  const talk = [new AIMessage("Welcome"), new HumanMessage("Hello there. How are you?")];
  it.each([
    [{ name: " Mine ", title: "Model's" }, talk, "Mine", "given"],
    [{ name: null, title: "Model's" }, talk, "Model's", "model"],
    [{ name: 7 }, talk, "Hello there", "first_message"],
    [{}, [new AIMessage("Welcome")], "Chat 2026-03-04 05:06", "default"],
    [{}, [new HumanMessage("?")], "Chat 2026-03-04 05:06", "default"],
  ])("with %j is found", (metadata, messages, name, source) => {
    expect(nameOf(session(metadata), messages)).toEqual({ name, source });
  });
});

describe("a title in a model's answer", () => {
  it.each([
    ["Lighthouse repair plan", "Lighthouse repair plan"],
    ['"Lighthouse repair."\n', "Lighthouse repair"],
    ["Title: **Lighthouse**", "Lighthouse"],
    ["标题：《灯塔》", "灯塔"],
    ["<think>hm</think>\n\nLighthouse", "Lighthouse"],
    ["\n\n", undefined],
    ["<think>never ends", undefined],
    ["x".repeat(500), `${"x".repeat(59)}…`],
  ])("%j is %j", (answer, title) => {
    expect(toTitle(answer)).toBe(title);
  });

  it("is read at once from a line that is as long as an answer may be", () => {
    expect(toTitle(`Plan the week${" ".repeat(1_000_000)}and the next`)).toBe("Plan the week");
  });
});
