const canonicalUuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id as SQLite stores it: a UUID as its 16 bytes (which sort like its text), anything else as text. */
export function packId(id: string): string | Buffer {
  return canonicalUuid.test(id) ? Buffer.from(id.replaceAll("-", ""), "hex") : id;
}

/** The id that `packId` has packed. */
export function unpackId(id: string | Buffer): string {
  if (typeof id === "string") return id;
  const hex = id.toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
