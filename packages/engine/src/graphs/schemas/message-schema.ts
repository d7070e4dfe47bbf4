// The reader of types, a process of its own, needs these alone: with the rest of the schemas it would load all of LangGraph.

/** The name of the dialect in which types are told, as every LangGraph server tells it. */
export const dialect = "http://json-schema.org/draft-07/schema#";

/** One message of LangChain, as the SDK's clients send and get it. */
export const message = {
  title: "BaseMessage",
  type: "object",
  properties: {
    type: { type: "string", enum: ["ai", "function", "human", "remove", "system", "tool"] },
    content: { anyOf: [{ type: "string" }, { type: "array", items: { type: "object" } }] },
    id: { type: "string" },
    name: { type: "string" },
    tool_calls: { type: "array", items: { type: "object" } },
    tool_call_id: { type: "string" },
  },
  required: ["content"],
};

/** A list of messages: clients know it by `langgraph_type`. */
export const messageList = { type: "array", items: message, langgraph_type: "messages" };
