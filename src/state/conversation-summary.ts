import { z } from "zod";

/** How hard a compression cuts: each level keeps fewer messages, and less of them. */
export const CompressionLevel = z.enum(["normal", "secondary", "extreme"]);
export type CompressionLevel = z.infer<typeof CompressionLevel>;

/** What is shown beside a summary, as it was decided when the summary was written. */
export const Compaction = z.object({
  level: CompressionLevel,
  /** Messages that are shown although the summary speaks about them. */
  kept_message_ids: z.array(z.string()),
  /** The last message of that time; what was said later is shown as it is. */
  last_message_id: z.string(),
  /** The last messages that are not shown, a line each. */
  earlier: z.array(z.string()),
  /** What the messages that are not shown have changed in the workspace, the last change of each path. */
  operations: z.array(z.string()),
});
export type Compaction = z.infer<typeof Compaction>;

/** The structured summary that stands for older messages, and the last message it speaks about. */
export const ConversationSummary = z.object({
  goal: z.string(),
  completed: z.array(z.string()),
  todo: z.array(z.string()),
  attempted_solutions: z.array(z.string()),
  current_problem: z.string(),
  key_decisions: z.array(z.string()),
  through_message_id: z.string(),
  /** Absent in summaries of older versions and of other programs. */
  shown: Compaction.optional(),
});
export type ConversationSummary = z.infer<typeof ConversationSummary>;
