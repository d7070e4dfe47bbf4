import { coerceMessageLikeToMessage, HumanMessage, type BaseMessageLike } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { giveMessageIds, giveUpdateIds } from "../../src/runs/message-ids.ts";

const forms: [string, unknown][] = [
  ["a role and content", { role: "user", content: "hi" }],
  ["a type and content", { type: "human", content: "hi" }],
  ["a pair", ["user", "hi"]],
  ["a string", "hi"],
  ["LangChain's stored form", new HumanMessage("hi").toJSON()],
  ["a message", new HumanMessage("hi")],
];

describe("the messages of an input", () => {
  it.each(forms)("get an id that LangChain reads, given as %s", (_name, message) => {
    const { messages } = JSON.parse(JSON.stringify(giveMessageIds({ messages: [message] }))) as {
      messages: BaseMessageLike[];
    };
    const [read] = messages.map(coerceMessageLikeToMessage);
    expect(read).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), content: "hi", type: "human" });
  });

  it("keep the id they have", () => {
    const input = { messages: [{ role: "user", content: "hi", id: "mine" }], other: 1 };
    expect(giveMessageIds(input)).toEqual(input);
  });

  it("may be one message instead of a list", () => {
    expect(giveMessageIds({ messages: "hi" })).toEqual({
      messages: { type: "human", content: "hi", id: expect.any(String) },
    });
  });

  it.each([[null], [undefined], ["text"], [[1]], [{ question: "?" }], [{ messages: null }], [{ messages: [7] }]])(
    "are left alone where there are none: %j",
    (input) => {
      expect(giveMessageIds(input)).toEqual(input);
    },
  );

  it("get ids in both forms of an update", () => {
    const messages = [{ role: "user", content: "hi" }];
    const identified = [{ role: "user", content: "hi", id: expect.any(String) }];
    expect(giveUpdateIds({ messages })).toEqual({ messages: identified });
    expect(
      giveUpdateIds([
        ["messages", messages],
        ["steps", 1],
      ]),
    ).toEqual([
      ["messages", identified],
      ["steps", 1],
    ]);
  });
});
