import { createHash } from "node:crypto";

/** A deterministic UUID (version 8, RFC 9562) of these texts. */
export function stableId(...texts: readonly string[]): string {
  const hex = createHash("sha256").update(JSON.stringify(texts)).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
