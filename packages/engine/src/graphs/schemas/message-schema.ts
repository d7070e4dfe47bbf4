// A module of its own, since the type-reading process would otherwise load all of LangGraph.

/** The JSON Schema dialect that every LangGraph server declares. */
export const dialect = "http://json-schema.org/draft-07/schema#";

/** A LangChain message as the SDK's clients send and receive it. */
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
