import { messagesStateReducer } from "@langchain/langgraph";
import {
  getConfigTypeSchema,
  getInputTypeSchema,
  getOutputTypeSchema,
  getStateTypeSchema,
} from "@langchain/langgraph/zod/schema";
import { z } from "zod";
import type { JsonObject } from "../storage/records.ts";
import type { TypeSchemas } from "./read-types.ts";

/** JSON Schemas of one graph, as `GET /assistants/:id/schemas` shows them. `null` where the graph declares none. */
export interface GraphSchemas {
  input_schema: unknown;
  output_schema: unknown;
  state_schema: unknown;
  config_schema: unknown;
  context_schema: unknown;
}

interface GraphWithChannels {
  channels: Record<string, unknown>;
  inputChannels: PropertyKey | PropertyKey[];
  outputChannels: PropertyKey | PropertyKey[];
}

const messageList = { type: "array", items: { type: "object" }, langgraph_type: "messages" };

/** A graph without runtime schemas (`Annotation.Root`) still has channels; their names are all that can be said at once. */
function schemaOfChannels(graph: GraphWithChannels, names: PropertyKey[]): JsonObject {
  const properties: JsonObject = {};
  for (const name of names.map(String)) {
    if (name.startsWith("__") || name.startsWith("branch:")) continue;
    const channel = graph.channels[name];
    properties[name] = holdsMessages(channel) ? messageList : {};
  }
  return { type: "object", properties };
}

/** Asked by name: the graph may be made of another copy of LangGraph. */
function holdsMessages(channel: unknown): boolean {
  if (typeof channel !== "object" || channel === null || !("operator" in channel)) return false;
  return typeof channel.operator === "function" && channel.operator.name === messagesStateReducer.name;
}

/**
 * The schemas a graph declares at run time (StateSchema or zod); no compiler is involved, so the answer is immediate. A
 * schema that cannot be written as JSON Schema falls back to the names of its channels.
 */
export function graphSchemas(graph: GraphWithChannels): GraphSchemas {
  const declared = (read: (graph: unknown) => unknown): unknown => {
    try {
      return read(graph);
    } catch {
      // Zod types such as `z.custom` or transforms have no JSON Schema; the channels' names still do.
      return undefined;
    }
  };
  const zodState = stateOfZod(graph);
  const state = declared(getStateTypeSchema) ?? zodState ?? schemaOfChannels(graph, Object.keys(graph.channels));
  // The start channel stands for the whole state, of which an input may be any part.
  const input = declared(getInputTypeSchema) ?? partial(state);
  const output = declared(getOutputTypeSchema) ?? zodState ?? schemaOfChannels(graph, [graph.outputChannels].flat());
  const config = declared(getConfigTypeSchema) ?? partOfZod(graph, "_configRuntimeSchema") ?? null;
  return {
    input_schema: input,
    output_schema: output,
    state_schema: state,
    config_schema: config,
    context_schema: config,
  };
}

/** Whether a graph says when it runs what its state is, in a way that can be written. */
export function hasStateSchema(graph: GraphWithChannels): boolean {
  try {
    return getStateTypeSchema(graph) !== undefined || stateOfZod(graph) !== undefined;
  } catch {
    return stateOfZod(graph) !== undefined;
  }
}

const TypedObject = z.looseObject({ properties: z.record(z.string(), z.unknown()) });
const MessageList = z.looseObject({ langgraph_type: z.literal("messages") });

/** What the types of a graph say, as its schemas. An input may be any part of the state. */
export function schemasOfTypes({ state, input, output, context }: TypeSchemas): GraphSchemas {
  const channels = TypedObject.safeParse(state).data?.properties ?? {};
  const given = TypedObject.safeParse(input).data;
  // What a list of messages takes (texts, pairs, messages of other forms) says nothing to a form that a person fills in.
  const fields = Object.entries(given?.properties ?? {}).map(([name, schema]) => [
    name,
    MessageList.safeParse(channels[name]).success ? channels[name] : schema,
  ]);
  const isSaid = Object.keys(TypedObject.safeParse(context).data?.properties ?? {}).length > 0;
  return {
    input_schema: partial(given === undefined ? input : { ...given, properties: Object.fromEntries(fields) }),
    output_schema: output,
    state_schema: state,
    config_schema: isSaid ? context : null,
    context_schema: isSaid ? context : null,
  };
}

/** The state in zod's own words, with the lists of messages named as such. */
function stateOfZod(graph: GraphWithChannels): unknown {
  const schema = TypedObject.safeParse(partOfZod(graph, "_schemaRuntimeDefinition")).data;
  if (schema === undefined) return undefined;
  const fields = Object.entries(schema.properties).map(([name, field]) => [
    name,
    holdsMessages(graph.channels[name]) ? messageList : field,
  ]);
  return { ...schema, properties: Object.fromEntries(fields) };
}

/** A schema that the graph was made with, of any copy of zod: what JSON Schema cannot say (`z.custom`) becomes "anything". */
function partOfZod(graph: object, part: "_configRuntimeSchema" | "_schemaRuntimeDefinition"): unknown {
  const builder: unknown = "builder" in graph ? graph.builder : undefined;
  if (typeof builder !== "object" || builder === null || !(part in builder)) return undefined;
  const schema = (builder as Record<string, unknown>)[part];
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return undefined;
  // Each copy of zod 4 reads the schemas of the others by this field.
  return z.toJSONSchema(schema as z.ZodType, { unrepresentable: "any", io: "input" });
}

function partial(schema: unknown): unknown {
  if (typeof schema !== "object" || schema === null) return schema;
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "required"));
}
