import {
  coerceMessageLikeToMessage,
  HumanMessage,
  type BaseMessage,
  type BaseMessageLike,
} from "@langchain/core/messages";
import {
  Annotation,
  MessagesAnnotation,
  messagesStateReducer,
  MessagesZodMeta,
  StateGraph,
} from "@langchain/langgraph";
import { registry, withLangGraph } from "@langchain/langgraph/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { workflow } from "../../../src/graph/workflow.ts";
import { assignMessageIds, assignUpdateIds } from "@millrace/engine/runs/admission/draft";

const graph = new StateGraph(MessagesAnnotation);
const chats = new StateGraph(
  Annotation.Root({
    chat: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
    messages: Annotation<string[]>({ reducer: (left, right) => [...left, ...right], default: () => [] }),
  }),
);
const inZod = new StateGraph(
  z.object({
    messages: withLangGraph(z.array(z.unknown()), {
      reducer: { fn: (left: unknown[], right: unknown[]) => [...left, ...right] },
      default: () => [],
    }),
  }),
);

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
    const { messages } = JSON.parse(JSON.stringify(assignMessageIds({ messages: [message] }, graph))) as {
      messages: BaseMessageLike[];
    };
    const [read] = messages.map(coerceMessageLikeToMessage);
    expect(read).toMatchObject({ id: expect.stringMatching(/^[0-9a-f-]{36}$/), content: "hi", type: "human" });
  });

  it("keep the id they have", () => {
    const input = { messages: [{ role: "user", content: "hi", id: "mine" }], other: 1 };
    expect(assignMessageIds(input, graph)).toEqual(input);
  });

  it("may be one message instead of a list", () => {
    expect(assignMessageIds({ messages: "hi" }, graph)).toEqual({
      messages: { type: "human", content: "hi", id: expect.any(String) },
    });
  });

  it.each([[null], [undefined], ["text"], [[1]], [{ question: "?" }], [{ messages: null }], [{ messages: [7] }]])(
    "are left alone where there are none: %j",
    (input) => {
      expect(assignMessageIds(input, graph)).toEqual(input);
    },
  );

  it("get ids in both forms of an update", () => {
    const messages = [{ role: "user", content: "hi" }];
    const identified = [{ role: "user", content: "hi", id: expect.any(String) }];
    expect(assignUpdateIds({ messages }, graph)).toEqual({ messages: identified });
    expect(
      assignUpdateIds(
        [
          ["messages", messages],
          ["steps", 1],
        ],
        graph,
      ),
    ).toEqual([
      ["messages", identified],
      ["steps", 1],
    ]);
  });

  it.each([
    ["annotation", graph],
    [
      "zod schema",
      new StateGraph(z.object({ messages: z.custom<BaseMessage[]>().register(registry, MessagesZodMeta) })),
    ],
    ["schema of ours", workflow],
  ])("get ids where an %s says that they are messages", (_name, made) => {
    expect(assignMessageIds({ messages: ["hi"] }, made)).toMatchObject({ messages: [{ id: expect.any(String) }] });
  });

  it.each([["a list of strings", chats] as const, ["a list with a reducer of its own", inZod] as const])(
    "are left to the graph in %s",
    (_name, made) => {
      const input = { messages: ["a", { type: "doc" }, ["user", "b"]] };
      expect(assignMessageIds(input, made)).toBe(input);
      expect(assignUpdateIds(input, made)).toBe(input);
      expect(assignUpdateIds(Object.entries(input), made)).toEqual(Object.entries(input));
    },
  );

  it("get ids in a channel of another name", () => {
    const input = { chat: "hi", messages: ["a"] };
    expect(assignMessageIds(input, chats)).toEqual({
      chat: { type: "human", content: "hi", id: expect.any(String) },
      messages: ["a"],
    });
    expect(assignUpdateIds([["chat", ["hi"]]], chats)).toMatchObject([["chat", [{ id: expect.any(String) }]]]);
  });
});
