import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { messageLimit } from "../http-fetch.ts";
import { MessageLines } from "../process-transport.ts";

const message = (id: number, text: string): object => ({ jsonrpc: "2.0", id, result: { text } });
const line = (value: object): string => `${JSON.stringify(value)}\n`;

describe("the output of an MCP server", () => {
  it("gives the same messages however it is cut into pieces, and passes over greetings", () => {
    const words = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 5 });
    fc.assert(
      fc.property(words, fc.array(fc.nat(400), { maxLength: 20 }), (texts, cuts) => {
        const expected = texts.map((text, id) => message(id, text));
        const bytes = Buffer.from(
          `[info] hello\n\n${expected.map((each) => `${line(each)}{"level":30}\r\n`).join("")}`,
        );
        const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
        const lines = new MessageLines();
        const found = places.slice(1).flatMap((end, index) => {
          const { messages, problem } = lines.read(bytes.subarray(places[index], end));
          expect(problem).toBeUndefined();
          return messages;
        });
        expect(found).toEqual(expected);
      }),
    );
  });

  it.each(['{"jsonrpc":"2.0","id":1,', '{"jsonrpc":"1.0","id":1,"result":{}}', '{"jsonrpc":"2.0","nothing":1}'])(
    "is broken after %s, and what came before counts",
    (bad) => {
      const read = new MessageLines().read(Buffer.from(`${line(message(1, "a"))}${bad}\n${line(message(2, "b"))}`));
      expect(read).toEqual({ messages: [message(1, "a")], problem: expect.stringContaining("no JSON-RPC message") });
    },
  );

  it("is broken when a message does not end within the limit", () => {
    const lines = new MessageLines();
    const half = Buffer.alloc(messageLimit / 2, "x");
    expect(lines.read(half).problem).toBeUndefined();
    expect(lines.read(half).problem).toBeUndefined();
    expect(lines.read(Buffer.from("x")).problem).toContain("more than 10 MB");
  });
});
