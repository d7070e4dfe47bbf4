import { z } from "zod";

const JsonSchema = z.record(z.string(), z.unknown());

/** What the types of a graph say of each of its parts. */
const PartSchemas = z.object({
  state: JsonSchema.optional(),
  input: JsonSchema.optional(),
  output: JsonSchema.optional(),
  context: JsonSchema.optional(),
});
export type PartSchemas = z.infer<typeof PartSchemas>;

/** What the types of a graph say, as JSON Schemas, with those of the graphs inside of its nodes. */
export const TypeSchemas = PartSchemas.extend({
  subgraphs: z.array(PartSchemas.extend({ node: z.string().optional() })),
});
export type TypeSchemas = z.infer<typeof TypeSchemas>;

/** The same, with the files that say it: modules of the user's and their settings. */
export const FoundTypes = TypeSchemas.extend({ files: z.array(z.string()) });
export type FoundTypes = z.infer<typeof FoundTypes>;

/**
 * What the process that reads types is told: a folder for what it writes, and which exports are graphs. A module that
 * has no packages of its own stands in that folder, too, under another name.
 */
export interface TypeJob {
  work: string;
  graphs: { path: string; name: string }[];
}
