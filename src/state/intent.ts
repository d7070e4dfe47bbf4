import { z } from "zod";

/** Where `intent` sends a turn, and where a run may send it. */
export const Route = z.enum(["reply", "free_work", "plan", "action"]);
export type Route = z.infer<typeof Route>;
/** Where a turn goes: as `Route`, or to the question that comes before an unclear request. */
export const TurnRoute = z.enum([...Route.options, "clarify"]);
export type TurnRoute = z.infer<typeof TurnRoute>;

/**
 * What a request wants: its kind, how far the user expects it to go, what matters most, and needs that are not said.
 * The lists are in the user's words or in English.
 */
export const Intent = z.object({
  kind: z.enum(["information", "action", "emotional", "unclear", "multi_intent"]),
  extent: z.enum(["view", "partial", "full"]),
  priorities: z.array(z.string()),
  implicit_needs: z.array(z.string()),
});
export type Intent = z.infer<typeof Intent>;

/** What is assumed of an unclear request, and the one or two questions about it, in the user's language. */
export const Clarification = z.object({
  guess: z.string(),
  defaults: z.array(z.string()),
  questions: z.array(z.string()).min(1).max(2),
  suggestions: z.array(z.string()),
});
export type Clarification = z.infer<typeof Clarification>;
