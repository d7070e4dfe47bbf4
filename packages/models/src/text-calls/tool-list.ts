import type { BindToolsInput } from "@langchain/core/language_models/chat_models";
import { isAIMessage, type BaseMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { z } from "zod";
import type { ToolText } from "../describe-tools.ts";

const Definition = z.looseObject({
  function: z.looseObject({
    name: z.string(),
    description: z.string().default(""),
    parameters: z
      .looseObject({
        properties: z.record(z.string(), z.unknown()).default({}),
        required: z.array(z.string()).default([]),
      })
      .default({ properties: {}, required: [] }),
  }),
});

const Property = z.looseObject({ description: z.string().optional(), examples: z.array(z.unknown()).optional() });

/** A bound tool: its description and parameters. */
export interface ListedTool {
  text: ToolText;
  /** The JSON Schema of each parameter. */
  properties: Readonly<Record<string, unknown>>;
}

/**
 * The call's tools by name; only the forced one, if any. If none may be called they are still described, to keep the
 * prefix.
 */
export function listTools(tools: readonly BindToolsInput[], choice: unknown): Map<string, ListedTool> {
  const listed = tools.map((tool) => listedTool(tool));
  const forced = listed.filter(({ text }) => text.name === choice);
  return new Map((forced.length > 0 ? forced : listed).map((tool) => [tool.text.name, tool]));
}

/**
 * Tools a reply may call: offered ones and those called earlier in the conversation. Models repeat earlier calls even
 * without tools, and users should not see them.
 */
export function callableNames(listed: ReadonlyMap<string, ListedTool>, messages: readonly BaseMessage[]): string[] {
  const called = messages.filter((message) => isAIMessage(message)).flatMap(({ tool_calls = [] }) => tool_calls);
  return [...new Set([...listed.keys(), ...called.map(({ name }) => name)])];
}

function listedTool(tool: BindToolsInput): ListedTool {
  const { name, description, parameters } = Definition.parse(convertToOpenAITool(tool)).function;
  const { properties, required } = parameters;
  const described = Object.entries(properties).map(([key, schema]) => {
    const property = Property.safeParse(schema).data ?? {};
    const example = property.examples?.[0];
    return {
      name: key,
      required: required.includes(key),
      description: typeText(property),
      ...(example === undefined ? {} : { example: typeof example === "string" ? example : JSON.stringify(example) }),
    };
  });
  return { text: { name, description, parameters: described }, properties };
}

/** A parameter's meaning, and its type if it is more than a text. */
function typeText({ description = "", ...form }: z.infer<typeof Property>): string {
  const isText = form["type"] === "string" && Object.keys(form).length === 1;
  const { examples: _, ...schema } = form;
  return isText || Object.keys(schema).length === 0 ? description : `${description} ${JSON.stringify(schema)}`.trim();
}
