import { z } from "zod";
import { AppError } from "../errors/errors.ts";
import { loadExport } from "./user-module.ts";

/** What `store.index` of a `langgraph.json` says. */
export const StoreIndex = z.looseObject({
  embed: z.string().min(1).describe("openai:text-embedding-3-small, or ./file.ts:export"),
  dims: z.number().int().min(1).max(16_384),
  fields: z.array(z.string().min(1).max(1_000)).min(1).max(100).default(["$"]),
});
type StoreIndex = z.infer<typeof StoreIndex>;

/** Who embeds the items of the store: a model by its name, or a function of the user's. */
export interface IndexSource {
  embed: string | ((texts: string[]) => Promise<unknown>);
  /** As the file says it. */
  name: string;
  /** Numbers of a vector. */
  dims: number;
  fields: readonly string[];
}

const isFile = /^[./]|\.[cm]?[jt]sx?(?::|$)/u;

/** What LangChain calls embeddings: an object with this method. */
const Embeddings = z.custom<{ embedDocuments: (texts: string[]) => Promise<unknown> }>(
  (value) =>
    typeof value === "object" &&
    value !== null &&
    "embedDocuments" in value &&
    typeof value.embedDocuments === "function",
);

/** Loads what `store.index` names. Throws `config` for what cannot be used, and what the user's module throws. */
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
