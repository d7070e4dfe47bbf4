import { z } from "zod";

/** How far a compression goes: each level keeps fewer messages and less of each. */
export const CompressionLevel = z.enum(["normal", "secondary", "extreme"]);
export type CompressionLevel = z.infer<typeof CompressionLevel>;

/** Facts shown with a summary, determined when it was written. */
export const Compaction = z.object({
  level: CompressionLevel,
  /** Messages covered by the summary that are shown all the same. */
  kept_message_ids: z.array(z.string()),
  /** The last message at that time; later ones are shown in full. */
  last_message_id: z.string(),
  /** The last hidden messages, one line each. */
  earlier: z.array(z.string()),
  /** Workspace changes made in hidden messages, the last one per path. */
  operations: z.array(z.string()),
});
export type Compaction = z.infer<typeof Compaction>;

/** The structured summary of older messages, up to `through_message_id`. */
export const ConversationSummary = z.object({
  goal: z.string(),
  completed: z.array(z.string()),
  todo: z.array(z.string()),
  attempted_solutions: z.array(z.string()),
  current_problem: z.string(),
  key_decisions: z.array(z.string()),
  through_message_id: z.string(),
  /** Absent in summaries by older versions or other programs. */
  shown: Compaction.optional(),
});
export type ConversationSummary = z.infer<typeof ConversationSummary>;
