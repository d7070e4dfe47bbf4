import { z } from "zod";
import type { Language } from "../../language.ts";
import { JsonObject } from "../../storage/records.ts";

/** The effect of a tool call, as far as it can be known without running it. */
export const CallEffectShape = z
  .object({
    kind: z
      .enum(["create", "modify", "delete", "move", "edit", "command", "call"])
      .describe("edit: the document in the client's editor; call: it changes no file of the workspace that is known"),
    summary: z.string().describe("One line in the language of Accept-Language: English or Chinese"),
    operation: JsonObject.describe("The facts that the rules decide by"),
    paths: z.array(z.string()).describe("What it would change in the workspace; of a move, from where and to where"),
    diff: z
      .object({
        path: z.string(),
        added: z.number().int(),
        removed: z.number().int(),
        lines: z.array(
          z.object({
            kind: z.enum(["same", "removed", "added"]),
            text: z.string(),
            old_line: z.number().int().nullable(),
            new_line: z.number().int().nullable(),
          }),
        ),
        more: z.number().int().describe("How many lines follow after these"),
      })
      .optional()
      .describe("The lines of a text file that would differ; missing where that cannot be said"),
    command: z.string().optional().describe("The command line that it would run"),
    undoable: z.boolean().describe("Whether what it replaces is kept, so that it can be undone"),
  })
  .meta({ ref: "CallEffect" });
export type CallEffectAnswer = z.infer<typeof CallEffectShape>;

/** A call that waits for approval, in the thread that asks. */
export interface PendingCall {
  session_id: string;
  tool: string;
  args: JsonObject;
  /** Its effect, as computed when the question was asked. */
  operation: JsonObject | undefined;
}

/** Computes the effect of a waiting call; `null` if it cannot be known. */
export type LookAtEffect = (
  call: PendingCall,
  language: Language,
  signal: AbortSignal,
) => Promise<CallEffectAnswer | null>;
