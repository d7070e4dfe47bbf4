import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
  type BaseMessage,
} from "@langchain/core/messages";
import { MessagesValue, messagesStateReducer, REMOVE_ALL_MESSAGES, StateSchema } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addToMessages, MessageList } from "@millrace/engine/message-list";

type Added = Parameters<typeof messagesStateReducer>[1];

const id = fc.constantFrom("a", "b", "c", "d", "e", "f");
/** Made anew for each reducer: they may write an id on what they are given. */
const makers: ((name: string) => () => Added)[] = [
  (name) => () => new HumanMessage({ id: name, content: "asks" }),
  (name) => () => new AIMessage({ id: name, content: "says" }),
  (name) => () => [new AIMessage({ id: name, content: "says" }), new HumanMessage({ id: name, content: "twice" })],
  (name) => () => new ToolMessage({ id: name, content: "gives", tool_call_id: name }),
  (name) => () => new AIMessageChunk({ id: name, content: "piece" }),
  (name) => () => ({ role: "user", content: "plain", id: name }),
  (name) => () => new RemoveMessage({ id: name }),
  () => () => [],
  () => () => [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), new HumanMessage({ id: "z", content: "anew" })],
];
const steps = fc.array(
  fc.tuple(fc.constantFrom(...makers), id).map(([make, name]) => make(name)),
  { maxLength: 12 },
);

/** What a list comes to, or what was thrown on the way. */
function walk(reducer: typeof messagesStateReducer, added: readonly (() => Added)[]): unknown {
  let list: BaseMessage[] = [];
  try {
    for (const make of added) list = reducer(list, make());
  } catch (error) {
    return String(error);
  }
  return list.map((message) => ({ ...message.toDict(), name: message.constructor.name }));
}

describe("the messages of a state", () => {
  it("come to the same as with LangGraph's own reducer, whatever is added, replaced or removed", () => {
    fc.assert(
      fc.property(steps, (added) => {
        expect(walk(addToMessages, added)).toEqual(walk(messagesStateReducer, added));
      }),
      { numRuns: 2000 },
    );
  });

  it("come to the same from one list in several ways, and from one that was made longer", () => {
    fc.assert(
      fc.property(steps, fc.array(steps, { maxLength: 4 }), fc.boolean(), (first, ways, isPushed) => {
        const both = [addToMessages, messagesStateReducer].map((reducer) => {
          const results: unknown[] = [];
          let list: BaseMessage[] = [];
          const add = (make: () => Added): void => {
            try {
              list = reducer(list, make());
            } catch (error) {
              results.push(String(error));
            }
          };
          for (const make of first) add(make);
          const begun = list;
          if (isPushed) begun.push(new HumanMessage({ id: "f", content: "pushed" }));
          for (const way of ways) {
            list = begun;
            for (const make of way) add(make);
            results.push(list.map((message) => message.toDict()));
          }
          return results;
        });
        expect(both[0]).toEqual(both[1]);
      }),
      { numRuns: 2000 },
    );
  });

  it("get an id where they have none, and a given list is not changed", () => {
    const first = [new HumanMessage({ id: "a", content: "asks" })];
    const second = addToMessages(first, [new AIMessage("says")]);
    expect(first).toHaveLength(1);
    expect(second.map((message) => typeof message.id)).toEqual(["string", "string"]);
    const third = addToMessages(second, [new AIMessage({ id: "a", content: "instead" })]);
    expect([second[0]?.text, third[0]?.text, third.length]).toEqual(["asks", "instead", 2]);
  });

  it("are described as LangGraph describes its own", () => {
    const described = [MessageList, MessagesValue].map((messages) => new StateSchema({ messages }).getJsonSchema());
    expect(described[0]).toEqual(described[1]);
  });
});
