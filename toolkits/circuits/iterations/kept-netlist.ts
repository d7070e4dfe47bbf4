import { createHash } from "node:crypto";
import { z } from "zod";

/** Maximum characters of a netlist that is stored with its result; of a longer one only the hash is stored. */
const maxNetlistLength = 200_000;

/** What was simulated, as it stands in the result. */
export const KeptNetlist = z.object({
  /** SHA-256 of the circuit's file. */
  hash: z.string(),
  text: z.string().nullable(),
  /** The hashes of the files that it includes, by their paths. */
  files: z.record(z.string(), z.string()),
});
export type KeptNetlist = z.infer<typeof KeptNetlist>;

/** The hash by which netlists are compared. */
export function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The netlist of a circuit, of which these are all files by their paths. */
export function keptNetlist(circuit: string, texts: ReadonlyMap<string, string>): KeptNetlist {
  const text = texts.get(circuit) ?? "";
  const files = [...texts].filter(([path]) => path !== circuit).map(([path, content]) => [path, hashOf(content)]);
  return { hash: hashOf(text), text: text.length > maxNetlistLength ? null : text, files: Object.fromEntries(files) };
}
