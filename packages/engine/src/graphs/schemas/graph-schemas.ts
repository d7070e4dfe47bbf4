import { z } from "zod";
import { holdsMessages } from "../message-channels.ts";
import { dialect, messageList } from "./message-list.ts";
import type { PartSchemas } from "./type-schemas.ts";
import { extraOf, type LangGraphCopy } from "./zod-copies.ts";

type Schema = Record<string, unknown>;

/** JSON Schemas of one graph, as `GET /assistants/:id/schemas` shows them. `null` where the graph declares none. */
export interface GraphSchemas {
  input_schema: unknown;
  output_schema: unknown;
  state_schema: unknown;
  config_schema: unknown;
  context_schema: unknown;
}

/** What of a graph its schemas are read off. */
export interface DescribedGraph {
  channels: Record<string, unknown>;
  inputChannels: PropertyKey | PropertyKey[];
  outputChannels: PropertyKey | PropertyKey[];
}

const TypedObject = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

/**
 * What a graph says of itself when it runs, by a `StateSchema` or zod; `copy` is the graph's own copy of LangGraph.
 * What JSON Schema cannot say (`z.custom`, transforms) becomes "anything".
 */
export function declaredSchemas(graph: DescribedGraph, copy: LangGraphCopy): PartSchemas {
  const zodState = zodSchema(graph, "_schemaRuntimeDefinition", copy);
  const state = written(graph, copy.getStateTypeSchema) ?? zodState;
  const input = written(graph, copy.getInputTypeSchema) ?? zodState;
  const output = written(graph, copy.getOutputTypeSchema) ?? zodState;
  return {
    state: state && withMessages(graph, state),
    input: input && withMessages(graph, input),
    output: output && withMessages(graph, output),
    context: written(graph, copy.getConfigTypeSchema) ?? zodSchema(graph, "_configRuntimeSchema", copy),
  };
}

function written(graph: DescribedGraph, write: (graph: unknown) => unknown): Schema | undefined {
  try {
    return z.record(z.string(), z.unknown()).safeParse(write(graph)).data;
  } catch {
    // The zod of some versions refuses what has no JSON Schema; ours is asked next.
    return undefined;
  }
}

/** The fields of the runtime schemas that a graph was made with, of any copy of zod. */
export function fieldsOf(graph: object): unknown[] {
  const parts = ["_schemaRuntimeDefinition", "_inputRuntimeDefinition", "_outputRuntimeDefinition"] as const;
  return parts.flatMap((part) => Object.values(shapeOf(builderPart(graph, part))));
}

function shapeOf(schema: unknown): Schema {
  const shape = typeof schema === "object" && schema !== null && "shape" in schema ? schema.shape : undefined;
  return z.record(z.string(), z.unknown()).safeParse(shape).data ?? {};
}

type RuntimePart =
  | "_configRuntimeSchema"
  | "_schemaRuntimeDefinition"
  | "_inputRuntimeDefinition"
  | "_outputRuntimeDefinition";

function builderPart(graph: object, part: RuntimePart): unknown {
  const builder: unknown = "builder" in graph ? graph.builder : undefined;
  if (typeof builder !== "object" || builder === null) return undefined;
  return (builder as Partial<Record<RuntimePart, unknown>>)[part];
}

/** A schema of zod 4 in our zod's words, with what LangGraph was told of its fields. */
function zodSchema(graph: object, part: RuntimePart, copy: LangGraphCopy): Schema | undefined {
  const schema = builderPart(graph, part);
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return undefined;
  // Each copy of zod 4 reads the schemas of the others by this field.
  const said = z.toJSONSchema(schema as z.ZodType, { unrepresentable: "any", io: "input" });
  const fields = Object.entries(said.properties ?? {}).map(([name, field]) => {
    const extra = extraOf(copy, shapeOf(schema)[name]);
    return [name, typeof field === "object" ? { ...field, ...extra } : field];
  });
  return { ...said, ...(said.properties && { properties: Object.fromEntries(fields) }) };
}

/** What is known of a graph by its channels alone: their names, and which of them hold messages. */
export function channelSchemas(graph: DescribedGraph): PartSchemas {
  const state = schemaOfChannels(graph, Object.keys(graph.channels));
  // The start channel stands for the whole state, of which an input may be any part.
  return { state, input: state, output: schemaOfChannels(graph, [graph.outputChannels].flat()) };
}

function schemaOfChannels(graph: DescribedGraph, names: PropertyKey[]): Schema {
  const shown = names.map(String).filter((name) => !name.startsWith("__") && !name.startsWith("branch:"));
  const properties = Object.fromEntries(shown.map((name) => [name, holdsMessages(graph, name) ? messageList : {}]));
  return { type: "object", properties, $schema: dialect };
}

/** The names of a graph's channels that are its state's, in no order. */
export function channelNames(graph: DescribedGraph): string[] {
  return Object.keys(TypedObject.parse(channelSchemas(graph).state).properties);
}

/**
 * The schemas of a graph by all that is known of it: what it declares, else what its types say, else its channels. What
 * types say counts where it names something: the types of some versions say nothing of some parts.
 */
export function graphSchemas(graph: DescribedGraph, declared: PartSchemas, typed: PartSchemas = {}): GraphSchemas {
  const channels = channelSchemas(graph);
  const chosen = (part: keyof PartSchemas): Schema | undefined => {
    const types =
      names(typed[part]) || (part !== "context" && names(channels[part]) === false) ? typed[part] : undefined;
    return declared[part] ?? types ?? channels[part];
  };
  const context = chosen("context") ?? null;
  return {
    input_schema: partial(chosen("input")),
    output_schema: chosen("output"),
    state_schema: chosen("state"),
    config_schema: context,
    context_schema: context,
  };
}

function names(schema: Schema | undefined): boolean {
  return Object.keys(TypedObject.safeParse(schema).data?.properties ?? {}).length > 0;
}

/** Fields whose channel is one of messages are told as such, whatever their schema could say of them. */
function withMessages(graph: DescribedGraph, schema: Schema): Schema {
  const properties = TypedObject.safeParse(schema).data?.properties;
  if (properties === undefined) return schema;
  const fields = Object.entries(properties).map(([name, field]) => {
    const isMarked = typeof field === "object" && field !== null && "langgraph_type" in field;
    return [name, !isMarked && holdsMessages(graph, name) ? messageList : field];
  });
  return { ...schema, properties: Object.fromEntries(fields) };
}

function partial(schema: Schema | undefined): Schema | undefined {
  if (schema === undefined) return undefined;
  const { required: _required, ...rest } = schema;
  return rest;
}
