import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { openHintLength, withHint, withoutHints } from "../../src/context/hints.ts";
import { shortIds } from "../../src/context/pruning/short-ids.ts";

const hint = "[Hint: message_id: 0123abcd]";

describe("short ids", () => {
  it("distinguish messages whose ids begin alike, and stay the same as the session grows", () => {
    const messages = Array.from(
      { length: 2000 },
      (_, index) => new HumanMessage({ id: `019aaaaa-bbbb-${index}`, content: "" }),
    );
    const all = shortIds(messages);
    expect(new Set(all.values()).size).toBe(2000);
    expect([...all.values()].every((id) => /^[0-9a-f]{8}$/u.test(id))).toBe(true);
    for (const [id, short] of shortIds(messages.slice(0, 700))) expect(all.get(id)).toBe(short);
  });

  it("differ also where two hashes begin alike", () => {
    // Found by search: the SHA-256 of both begins with the same 8 characters.
    const [left, right] = ["message-1120", "message-6262"];
    const short = shortIds([left, right].map((id) => new HumanMessage({ id, content: "" })));
    expect(new Set(short.values()).size).toBe(2);
    expect(short.get(left)).toBe(shortIds([new HumanMessage({ id: right, content: "" })]).get(right));
  });
});

describe("hints", () => {
  it("end a copy of the message, and leave the message as it is", () => {
    const request = new HumanMessage({ id: "h", content: "Hello" });
    expect(withHint(request, "0123abcd")).toMatchObject({ id: "h", content: `Hello\n\n${hint}` });
    expect(request.content).toBe("Hello");
    const calls = [{ id: "c", name: "read_file", args: { path: "a" }, type: "tool_call" as const }];
    const reply = new AIMessage({ id: "a", content: "", tool_calls: calls });
    expect(withHint(reply, "0123abcd")).toMatchObject({ content: hint, tool_calls: calls });
    const result = new ToolMessage({
      id: "t",
      tool_call_id: "c",
      status: "error",
      content: [{ type: "text", text: "no" }],
    });
    expect(withHint(result, "0123abcd")).toMatchObject({
      tool_call_id: "c",
      status: "error",
      content: [
        { type: "text", text: "no" },
        { type: "text", text: hint },
      ],
    });
  });

  it("are taken out of what a model says, wherever they stand", () => {
    expect(withoutHints(`Hello.\n\n${hint}`)).toBe("Hello.");
    expect(withoutHints(`${hint}${hint} and ${hint}on`)).toBe(" andon");
    expect(withoutHints("[Hint: message_id: short]")).toBe("[Hint: message_id: short]");
  });

  it("are looked for once in a long stretch of white space", () => {
    // With a search that begins again at each character this takes an hour.
    const blank = "\n".repeat(2_000_000);
    expect(withoutHints(`a${blank}b`)).toHaveLength(blank.length + 2);
    expect(withoutHints(`a${blank}${hint}b`)).toBe("ab");
  });

  it("never get through piece by piece", () => {
    const parts = fc.array(fc.constantFrom(hint, "word", " ", "\n", "[", "[Hint", "]", "a[0]", hint.slice(0, 22)), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(parts, fc.infiniteStream(fc.integer({ min: 1, max: 9 })), (list, sizes) => {
        const text = list.join("");
        let sent = "";
        let held = "";
        for (let at = 0; at < text.length;) {
          const size = sizes.next().value;
          held = withoutHints(held + text.slice(at, at + size));
          at += size;
          const open = openHintLength(held);
          sent += held.slice(0, held.length - open);
          held = held.slice(held.length - open);
        }
        expect(sent + held).toBe(withoutHints(text));
      }),
      { numRuns: 1000 },
    );
  });
});
