import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { z } from "zod";
import { AppError, errorMessage } from "../errors/errors.ts";
import { defaultTimes, type DefaultTimes, ItemTtl, ThreadTtl } from "../config/default-times.ts";
import type { InterfaceSources } from "./interfaces.ts";
import { loadExport } from "./user-module.ts";

/** `store.index` of a `langgraph.json`. */
export const StoreIndex = z.looseObject({
  embed: z.string().min(1).describe("openai:text-embedding-3-small, or ./file.ts:export"),
  dims: z.number().int().min(1).max(16_384),
  fields: z.array(z.string().min(1).max(1_000)).min(1).max(100).default(["$"]),
});

type StoreIndex = z.infer<typeof StoreIndex>;

const Reference = z.string().min(1).describe("./file.ts:export");

/** The origins that may call from a browser (`http.cors`). */
export const Cors = z.object({
  allow_origins: z.array(z.string()).optional(),
  allow_origin_regex: z.string().optional(),
  allow_methods: z.array(z.string()).optional(),
  allow_headers: z.array(z.string()).optional(),
  allow_credentials: z.boolean().optional(),
  expose_headers: z.array(z.string()).optional(),
  max_age: z.number().int().nonnegative().optional(),
});
export type Cors = z.infer<typeof Cors>;

const Http = z.looseObject({
  app: Reference.optional(),
  cors: Cors.optional(),
  disable_assistants: z.boolean().default(false),
  disable_threads: z.boolean().default(false),
  disable_runs: z.boolean().default(false),
  disable_store: z.boolean().default(false),
  disable_meta: z.boolean().default(false),
  disable_mcp: z.boolean().default(false),
  disable_openai: z.boolean().default(false),
  disable_a2a: z.boolean().default(false),
});

const Spec = z.union([Reference, z.looseObject({ path: Reference, description: z.string().optional() })]);

const ManifestFile = z.looseObject({
  graphs: z.record(z.string().min(1), Spec),
  env: z
    .union([z.string(), z.array(z.string()), z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]))])
    .optional(),
  auth: z.looseObject({ path: Reference.optional(), disable_studio_auth: z.boolean().default(false) }).optional(),
  http: Http.optional(),
  ui: z.record(z.string(), z.string()).optional(),
  ui_config: z.looseObject({ shared: z.array(z.string()).default([]) }).optional(),
  store: z.looseObject({ index: StoreIndex.optional(), ttl: ItemTtl.optional() }).optional(),
  checkpointer: z.looseObject({ ttl: ThreadTtl.optional() }).optional(),
  millrace: z.looseObject({ toolkits: z.array(Reference).default([]) }).optional(),
});

/** The settings of `langgraph.json` that this server uses; keys for building images are ignored. */
export interface Manifest {
  /** Absolute. Paths in the file are relative to `folder`. */
  path: string;
  folder: string;
  graphs: Record<string, GraphSpec>;
  /** Names used for two graphs; neither can be served. */
  repeated: ReadonlySet<string>;
  env: z.infer<typeof ManifestFile>["env"];
  auth: z.infer<typeof ManifestFile>["auth"];
  http: z.infer<typeof Http> | undefined;
  /** UI modules by graph, and packages that the pages provide. */
  interfaces: Pick<InterfaceSources, "modules" | "shared">;
  /** How long new items and threads are kept. */
  times: DefaultTimes;
  /** Modules that extend the agent, as `./file.ts:export`. */
  toolkits: string[];
  /** The settings of semantic search in the store. */
  index: z.infer<typeof StoreIndex> | undefined;
}

/** A graph's location: `reference` is `file:export`. */
export interface GraphSpec {
  reference: string;
  description: string | undefined;
}

/** Reads a `langgraph.json`. Throws `config` for an invalid one. */
export async function readManifest(file: string): Promise<Manifest> {
  const path = resolve(file);
  try {
    const text = await readFile(path, "utf8");
    const { graphs, env, auth, http, ui, ui_config, store, checkpointer, millrace } = ManifestFile.parse(
      JSON.parse(text),
    );
    const interfaces = { modules: ui ?? {}, shared: ui_config?.shared ?? [] };
    return {
      path,
      folder: dirname(path),
      graphs: specsOf(graphs),
      repeated: await repeatedNames(text, Object.keys(graphs)),
      env,
      auth,
      http,
      interfaces,
      toolkits: millrace?.toolkits ?? [],
      index: store?.index,
      times: defaultTimes(store?.ttl, checkpointer?.ttl),
    };
  } catch (error) {
    const why = error instanceof z.ZodError ? z.prettifyError(error) : errorMessage(error);
    throw new AppError("config", `${path} could not be read as a list of graphs: ${why}`, {
      suggestion: 'Expected {"graphs": {"name": "./file.ts:export"}}; --config or MILLRACE_GRAPHS names the file.',
      cause: error,
    });
  }
}

/** Names that occur twice in `graphs`, of which `JSON.parse` silently keeps the last. */
async function repeatedNames(text: string, names: readonly string[]): Promise<ReadonlySet<string>> {
  const isTwice = (name: string): boolean => text.split(JSON.stringify(name)).length > 2;
  if (!names.some(isTwice)) return new Set();
  const { isMap, isScalar, parseDocument } = await import("yaml");
  const graphs = parseDocument(text, { uniqueKeys: false }).get("graphs");
  const keys = isMap(graphs) ? graphs.items.map(({ key }) => (isScalar(key) ? String(key.value) : "")) : [];
  return new Set(keys.filter((key, index) => keys.indexOf(key) !== index));
}

function specsOf(graphs: z.infer<typeof ManifestFile>["graphs"]): Record<string, GraphSpec> {
  const specs = Object.entries(graphs).map(([id, spec]): [string, GraphSpec] => [
    id,
    typeof spec === "string"
      ? { reference: spec, description: undefined }
      : { reference: spec.path, description: spec.description },
  ]);
  return Object.fromEntries(specs);
}

/** What embeds the store's items: a model by name, or a user's function. */
export interface IndexSource {
  embed: string | ((texts: string[]) => Promise<unknown>);
  /** As written in the file. */
  name: string;
  /** The vectors' dimensions. */
  dims: number;
  fields: readonly string[];
}

const isFile = /^[./]|\.[cm]?[jt]sx?(?::|$)/u;

/** LangChain's embeddings: an object with this method. */
const Embeddings = z.custom<{ embedDocuments: (texts: string[]) => Promise<unknown> }>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    "embedDocuments" in value &&
    typeof value.embedDocuments === "function",
);

/** Loads what `store.index` names. Throws `config` if it is unusable, and what the user's module throws. */
export async function loadIndex(folder: string, index: StoreIndex | undefined): Promise<IndexSource | undefined> {
  if (index === undefined) return undefined;
  const { embed: name, dims, fields } = index;
  if (!isFile.test(name)) return { embed: name, name, dims, fields };
  const found = await loadExport(folder, name);
  const embeddings = Embeddings.safeParse(found).data;
  if (embeddings !== undefined) {
    return { embed: async (texts) => await embeddings.embedDocuments(texts), name, dims, fields };
  }
  if (typeof found !== "function") {
    throw new AppError("config", `store.index.embed: ${name} is no function.`, {
      suggestion:
        "Export a function that gives a list of numbers for each text: (texts: string[]) => Promise<number[][]>.",
    });
  }
  return { embed: async (texts): Promise<unknown> => await found(texts), name, dims, fields };
}
