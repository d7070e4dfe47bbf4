import { z } from "zod";

const Meta = z.object({ thread_id: z.string(), applied_through_seq: z.number() });

/** The answer to a command, for the API's description. */
export const ProtocolAnswerShape = z
  .union([
    z.object({
      type: z.literal("success"),
      id: z.number(),
      result: z.record(z.string(), z.unknown()),
      meta: Meta,
    }),
    z.object({
      type: z.literal("error"),
      id: z.number().nullable(),
      error: z.string(),
      message: z.string(),
      meta: Meta.optional(),
    }),
  ])
  .meta({ ref: "ProtocolAnswer" });
