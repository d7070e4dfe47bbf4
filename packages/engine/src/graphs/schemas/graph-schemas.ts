import { z } from "zod";
import { holdsMessages } from "../served-graph.ts";
import { dialect, messageList } from "./message-schema.ts";
import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import * as ownRegistry from "@langchain/langgraph/zod";
import * as ownWriters from "@langchain/langgraph/zod/schema";

type Schema = Record<string, unknown>;

/** JSON Schemas of one graph, as `GET /assistants/:id/schemas` returns them. `null` where the graph declares none. */
export interface GraphSchemas {
  input_schema: unknown;
  output_schema: unknown;
  state_schema: unknown;
  config_schema: unknown;
  context_schema: unknown;
}

/** The parts of a graph from which its schemas are read. */
export interface DescribedGraph {
  channels: Record<string, unknown>;
  inputChannels: PropertyKey | PropertyKey[];
  outputChannels: PropertyKey | PropertyKey[];
}

const TypedObject = z.looseObject({ properties: z.record(z.string(), z.unknown()) });

/**
 * What a graph declares at run time, by a `StateSchema` or zod; `copy` is the graph's own copy of LangGraph. What JSON
 * Schema cannot express (`z.custom`, transforms) becomes "anything".
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
    // Some zod versions throw where there is no JSON Schema; ours is tried next.
    return undefined;
  }
}

/** The fields of a graph's run-time schemas, from any copy of zod. */
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

/** A zod 4 schema in our own copy of zod, with the metadata LangGraph holds for its fields. */
function zodSchema(graph: object, part: RuntimePart, copy: LangGraphCopy): Schema | undefined {
  const schema = builderPart(graph, part);
  if (typeof schema !== "object" || schema === null || !("_zod" in schema)) return undefined;
  // Each copy of zod 4 reads the others' schemas by this field.
  const jsonSchema = z.toJSONSchema(schema as z.ZodType, { unrepresentable: "any", io: "input" });
  const fields = Object.entries(jsonSchema.properties ?? {}).map(([name, field]) => {
    const extra = extraOf(copy, shapeOf(schema)[name]);
    return [name, typeof field === "object" ? { ...field, ...extra } : field];
  });
  return { ...jsonSchema, ...(jsonSchema.properties && { properties: Object.fromEntries(fields) }) };
}

/** What the channels alone reveal: their names, and which hold messages. */
export function channelSchemas(graph: DescribedGraph): PartSchemas {
  const state = schemaOfChannels(graph, Object.keys(graph.channels));
  // The start channel stands for the whole state, any part of which may be input.
  return { state, input: state, output: schemaOfChannels(graph, [graph.outputChannels].flat()) };
}

function schemaOfChannels(graph: DescribedGraph, names: PropertyKey[]): Schema {
  const shown = names.map(String).filter((name) => !name.startsWith("__") && !name.startsWith("branch:"));
  const properties = Object.fromEntries(shown.map((name) => [name, holdsMessages(graph, name) ? messageList : {}]));
  return { type: "object", properties, $schema: dialect };
}

/** The names of the channels in a graph's state, unordered. */
export function channelNames(graph: DescribedGraph): string[] {
  return Object.keys(TypedObject.parse(channelSchemas(graph).state).properties);
}

/**
 * The schemas of a graph: its declarations first, then its types, then its channels. Types count only where they name
 * something: in some versions they describe some parts not at all.
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

/** Message channels are shown as messages, whatever their schema says. */
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

const JsonSchema = z.record(z.string(), z.unknown());

/** What a graph's types describe, by part. */
const PartSchemas = z.object({
  state: JsonSchema.optional(),
  input: JsonSchema.optional(),
  output: JsonSchema.optional(),
  context: JsonSchema.optional(),
});
export type PartSchemas = z.infer<typeof PartSchemas>;

/** What a graph's types describe, as JSON Schemas, with those of subgraphs in its nodes. */
export const TypeSchemas = PartSchemas.extend({
  subgraphs: z.array(PartSchemas.extend({ node: z.string().optional() })),
});
export type TypeSchemas = z.infer<typeof TypeSchemas>;

/** The same, with the source files: the user's modules and their settings. */
export const ReadTypes = TypeSchemas.extend({ files: z.array(z.string()) });
export type ReadTypes = z.infer<typeof ReadTypes>;

/**
 * The input of the type-reading process: a folder for its output, and which exports are graphs. A module without
 * packages of its own is placed in that folder, too, under another name.
 */
export interface TypeJob {
  work: string;
  graphs: { path: string; name: string }[];
}

const isWriter = (value: unknown): boolean => typeof value === "function";
const Writer = z.custom<(graph: unknown) => unknown>(isWriter);
const isRegistry = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "get" in value && typeof value.get === "function";
const Registry = z.custom<{ get(schema: unknown): unknown }>(isRegistry);
const Meta = z.looseObject({ jsonSchemaExtra: z.record(z.string(), z.unknown()).optional() });

const Copy = z.object({
  getStateTypeSchema: Writer,
  getInputTypeSchema: Writer,
  getOutputTypeSchema: Writer,
  getConfigTypeSchema: Writer,
  /** LangGraph before 0.3 exports none. */
  schemaMetaRegistry: Registry.optional(),
});
/** How one copy of LangGraph writes the schemas its graphs declare at run time. */
type LangGraphCopy = z.infer<typeof Copy>;

const own = Copy.parse({ ...ownWriters, ...ownRegistry });

/** The metadata `withLangGraph` set on a schema, to be merged into it. */
function extraOf(copy: LangGraphCopy, schema: unknown): Record<string, unknown> {
  return Meta.safeParse(copy.schemaMetaRegistry?.get(schema)).data?.jsonSchemaExtra ?? {};
}

/**
 * The copy of LangGraph that a module uses; only it knows the `withLangGraph` metadata of the module's schemas. There
 * may be two, one per module kind; the one that knows a field of the graph's schemas wins. Ours if there is none.
 */
export async function langGraphOf(path: string, fields: readonly unknown[]): Promise<LangGraphCopy> {
  // Tried first: in a bundle the module's folder has another copy than the bundled one.
  if (knowsOne(own, fields)) return own;
  const require = createRequire(path);
  const files = filesOf(require);
  if (files === undefined) return own;
  const folder = packageFolder(files[0]);
  const isRequired = Object.keys(require.cache).some((file) => file.startsWith(folder) && file.endsWith(".cjs"));
  const imported = files.map((file) => file.replace(/\.cjs$/u, ".js"));
  const copies: LangGraphCopy[] = [];
  for (const pair of isRequired ? [files, imported] : [imported]) {
    const copy = await open(pair);
    if (copy === undefined) continue;
    if (knowsOne(copy, fields)) return copy;
    copies.push(copy);
  }
  return copies[0] ?? own;
}

function knowsOne({ schemaMetaRegistry }: LangGraphCopy, fields: readonly unknown[]): boolean {
  return fields.some((field) => schemaMetaRegistry?.get(field) !== undefined);
}

function filesOf(require: NodeJS.Require): [string, string] | undefined {
  try {
    return [require.resolve("@langchain/langgraph/zod/schema"), require.resolve("@langchain/langgraph/zod")];
  } catch {
    // It has none, or one older than its zod support.
    return undefined;
  }
}

async function open(files: string[]): Promise<LangGraphCopy | undefined> {
  try {
    const modules: object[] = await Promise.all(files.map(async (file) => import(pathToFileURL(file).href)));
    return Copy.safeParse(Object.assign({}, ...modules)).data;
  } catch {
    // A version built differently: our own copy does what it can.
    return undefined;
  }
}

function packageFolder(file: string): string {
  const name = ["@langchain", "langgraph", ""].join(sep);
  const start = file.lastIndexOf(name);
  return start < 0 ? dirname(file) : file.slice(0, start + name.length);
}
