import { createHash } from "node:crypto";
import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import type { StoreItem } from "@millrace/engine/storage/items/store-items";

/** Maximum memories per owner, characters of one, and total characters. */
export const limits = { memories: 200, characters: 500, total: 40_000 } as const;

/** Kinds: a fact about the user, a preference, or the value of a named slot such as `employer`. */
export const MemoryKind = z.enum(["fact", "preference", "entity"]);
export type MemoryKind = z.infer<typeof MemoryKind>;

/** A memory is one line of the system text: line breaks become spaces. */
const Line = z.string().transform((text) => text.normalize("NFC").replaceAll(/\s+/gu, " ").trim());
/** The text of a memory. */
export const Content = Line.pipe(
  z
    .string()
    .min(1)
    .max(limits.characters, { error: `expected at most ${limits.characters} characters; say it shorter` }),
);
/** The slot's name, the entity's relation to the user. */
export const Slot = Line.pipe(z.string().min(1).max(60)).describe("what the entity is to the user, such as employer");
/** The id of a memory: short, since models write it. */
export const MemoryId = z.string().trim().min(1).max(100);

/** A memory to save; only an entity has a slot. */
export const MemoryInput = z
  .object({ kind: MemoryKind, slot: Slot.nullish(), content: Content })
  .refine(({ kind, slot }) => (kind === "entity") === (typeof slot === "string"), {
    error: "expected a slot with the kind entity, such as employer, and with no other kind",
    path: ["slot"],
  });
export type MemoryInput = z.infer<typeof MemoryInput>;

/** The changeable fields. */
export const MemoryChange = z
  .object({ kind: MemoryKind.optional(), slot: Slot.nullish(), content: Content.optional() })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: "expected at least one of kind, slot and content",
  });
export type MemoryChange = z.infer<typeof MemoryChange>;

/** A memory as clients and tools see it. */
export const Memory = z
  .object({
    id: z.string(),
    kind: MemoryKind,
    slot: z.string().nullable(),
    content: z.string(),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ ref: "Memory" });
export type Memory = z.infer<typeof Memory>;

const Kept = z.object({ kind: MemoryKind, slot: z.string().nullable().default(null), content: z.string() });

/** The memory in an item of the store; `undefined` if the item was written by something else. */
export function toMemory({ key, value, created_at, updated_at }: StoreItem): Memory | undefined {
  const kept = Kept.safeParse(value);
  return kept.success ? { id: key, ...kept.data, created_at, updated_at } : undefined;
}

/** Whether two memories have equal content or the same slot. */
export function isSame(one: Pick<Memory, "slot" | "content">, other: Pick<Memory, "slot" | "content">): boolean {
  if (one.slot !== null || other.slot !== null) {
    return one.slot !== null && other.slot !== null && plain(one.slot) === plain(other.slot);
  }
  return plain(one.content) === plain(other.content);
}

/** The id of a new memory: equal memories get the same one, also at two servers at the same moment. */
export function memoryId({ slot, content }: Pick<MemoryInput, "slot" | "content">): string {
  const text = typeof slot === "string" ? `slot ${plain(slot)}` : plain(content);
  return createHash("sha256").update(text).digest("hex").slice(0, 8);
}

/** A text without case, width and punctuation. */
function plain(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replaceAll(/[\p{P}\s]+/gu, " ")
    .trim();
}

/** A memory as one line for the model; with its id if it may be changed. */
export function memoryLine({ id, kind, slot, content }: Memory): string {
  return `- [${id}] ${kind === "entity" ? `${slot ?? "entity"}: ` : kind === "preference" ? "preference: " : ""}${content}`;
}

/** The error for an id that is not one of the caller's memories. */
export function noMemory(id: string): AppError {
  return new AppError("not_found", `There is no memory with the id "${id}".`, {
    suggestion: "List or search the memories to find its id.",
  });
}
