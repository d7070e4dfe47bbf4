import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import { pathToFileURL } from "node:url";
import * as ownRegistry from "@langchain/langgraph/zod";
import * as ownWriters from "@langchain/langgraph/zod/schema";
import { z } from "zod";

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
  /** Before LangGraph 0.3 there was none that could be asked. */
  schemaMetaRegistry: Registry.optional(),
});
/** How one copy of LangGraph writes the schemas that its graphs declare when they run. */
export type LangGraphCopy = z.infer<typeof Copy>;

const own = Copy.parse({ ...ownWriters, ...ownRegistry });

/** What `withLangGraph` was told of a schema, to be written beside what the schema says. */
export function extraOf(copy: LangGraphCopy, schema: unknown): Record<string, unknown> {
  return Meta.safeParse(copy.schemaMetaRegistry?.get(schema)).data?.jsonSchemaExtra ?? {};
}

/**
 * The copy of LangGraph that a module has, which alone knows what `withLangGraph` was told of the module's schemas. There may
 * be two, one for each kind of module; the one that knows a field of the graph's schemas is taken. Ours where there is none.
 */
export async function langGraphOf(path: string, fields: readonly unknown[]): Promise<LangGraphCopy> {
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
    if (fields.some((field) => copy.schemaMetaRegistry?.get(field) !== undefined)) return copy;
    copies.push(copy);
  }
  return copies[0] ?? own;
}

function filesOf(require: NodeJS.Require): [string, string] | undefined {
  try {
    return [require.resolve("@langchain/langgraph/zod/schema"), require.resolve("@langchain/langgraph/zod")];
  } catch {
    // It has none, or one of before there was zod in it.
    return undefined;
  }
}

async function open(files: string[]): Promise<LangGraphCopy | undefined> {
  try {
    const modules: object[] = await Promise.all(files.map(async (file) => import(pathToFileURL(file).href)));
    return Copy.safeParse(Object.assign({}, ...modules)).data;
  } catch {
    // A version that is made otherwise: our own copy says what it can.
    return undefined;
  }
}

function packageFolder(file: string): string {
  const name = ["@langchain", "langgraph", ""].join(sep);
  const start = file.lastIndexOf(name);
  return start < 0 ? dirname(file) : file.slice(0, start + name.length);
}
