import { tool } from "@langchain/core/tools";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";

const model = new ChatOpenAI({
  model: "bench",
  apiKey: "bench",
  maxRetries: 0,
  configuration: { baseURL: process.env["OPENAI_BASE_URL"] ?? null },
});

const lookup = tool(({ key }) => `The value of ${key} is 42.`, {
  name: "lookup",
  description: "Looks a value up.",
  schema: z.object({ key: z.string() }),
});

/** LangGraph's own agent with one tool, which the scripted model calls five times before it answers. */
export const graph = createReactAgent({ llm: model, tools: [lookup] });
