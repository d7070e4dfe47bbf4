import { z } from "zod";
import { errorCodes } from "@millrace/engine/errors/errors";
import { readFormats } from "./document-format.ts";

/** In what a text is written that becomes a Word document. */
export const Syntax = z.enum(["html", "markdown"]);
export type Syntax = z.infer<typeof Syntax>;

const Bytes = z.custom<Uint8Array>((value) => value instanceof Uint8Array);

/** What a thread for documents is asked for. */
export const DocumentJob = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("read"), format: z.enum(readFormats), file: Bytes }),
  z.object({ kind: z.literal("write"), content: z.string(), syntax: Syntax }),
]);
export type DocumentJob = z.infer<typeof DocumentJob>;

/** What it answers, once. */
export const DocumentAnswer = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text"), text: z.string(), left_out: z.array(z.string()) }),
  z.object({ kind: z.literal("file"), file: Bytes, pictures: z.number() }),
  z.object({
    kind: z.literal("failed"),
    code: z.enum(errorCodes),
    message: z.string(),
    suggestion: z.string().nullable(),
  }),
]);
export type DocumentAnswer = z.infer<typeof DocumentAnswer>;
