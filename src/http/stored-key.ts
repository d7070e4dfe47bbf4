import { z } from "zod";
import { masked } from "@millrace/models/registry/credentials";

/** Restricted to what a header can hold. */
const Key = z.string().regex(/^[\x21-\x7e]{1,1000}$/u, { error: "expected up to 1000 visible ASCII characters" });

/** A key to store: it can be written but never read. */
export const KeySave = z.strictObject({ key: Key.describe("Never shown again") }).meta({ ref: "ProviderKey" });

/** A key's metadata, without the key. */
export const StoredKeyShape = z.object({
  name: z.string(),
  is_set: z.boolean(),
  source: z.enum(["file", "environment"]).nullable(),
  shown: z.string().nullable().describe("Its last four characters, of a long one; for administrators"),
});

/** A key's metadata; administrators see its last characters. */
export function storedKeyShape(
  name: string,
  key: { value: string; source: "file" | "environment" } | undefined,
  mayAdminister: boolean,
): z.infer<typeof StoredKeyShape> {
  return {
    name,
    is_set: key !== undefined,
    source: key?.source ?? null,
    shown: key === undefined || !mayAdminister ? null : masked(key.value),
  };
}
