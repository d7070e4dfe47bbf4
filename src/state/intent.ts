import { z } from "zod";

/** Routes that `intent` or the run can choose. */
export const Route = z.enum(["reply", "free_work", "plan", "action"]);
export type Route = z.infer<typeof Route>;
/** Routes of a turn, including the question about an unclear request. */
export const TurnRoute = z.enum([...Route.options, "clarify"]);
export type TurnRoute = z.infer<typeof TurnRoute>;

/** A request's intent: its kind, extent, priorities and implied needs, in the user's words or in English. */
export const Intent = z.object({
  kind: z.enum(["information", "action", "emotional", "unclear", "multi_intent"]),
  extent: z.enum(["view", "partial", "full"]),
  priorities: z.array(z.string()),
  implicit_needs: z.array(z.string()),
});
export type Intent = z.infer<typeof Intent>;

/** The assumption about an unclear request and one or two questions, in the user's language. */
export const Clarification = z.object({
  guess: z.string(),
  defaults: z.array(z.string()),
  questions: z.array(z.string()).min(1).max(2),
  suggestions: z.array(z.string()),
});
export type Clarification = z.infer<typeof Clarification>;
