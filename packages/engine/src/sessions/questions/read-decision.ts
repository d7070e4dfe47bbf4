import { z } from "zod";

/** A person's decision. */
export type Decision =
  | { kind: "approve" }
  | { kind: "edit"; args: Record<string, unknown> }
  | { kind: "reject"; message: string | undefined }
  | { kind: "unclear"; problem: string };

const Args = z.record(z.string(), z.unknown());
const Action = z.object({ name: z.string().optional(), args: Args });
const WireDecision = z.union([
  z.object({ type: z.enum(["approve", "accept"]) }),
  z.object({ type: z.literal("edit"), edited_action: Action }),
  z.object({ type: z.literal("edit"), editedAction: Action }),
  z.object({ type: z.literal("edit"), args: z.union([Action, Args]) }),
  z.object({ type: z.enum(["reject", "ignore", "deny"]), message: z.string().optional() }),
]);
const WireAnswer = z.union([z.object({ decisions: z.tuple([WireDecision]) }), z.tuple([WireDecision]), WireDecision]);

/**
 * Parses an answer: `{decisions: [{type: "approve" | "edit" | "reject", …}]}`, a single decision, or a plain yes or no.
 * Anything else is `unclear` and is asked again; it never counts as a yes.
 */
export function readDecision(answer: unknown): Decision {
  if (answer === true) return { kind: "approve" };
  if (answer === false) return { kind: "reject", message: undefined };
  if (typeof answer === "string") return readWord(answer);
  const parsed = WireAnswer.safeParse(answer);
  if (!parsed.success) return { kind: "unclear", problem: expected };
  const body = parsed.data;
  const decision = Array.isArray(body) ? body[0] : "decisions" in body ? body.decisions[0] : body;
  switch (decision.type) {
    case "approve":
    case "accept":
      return { kind: "approve" };
    case "edit": {
      const edited =
        "edited_action" in decision
          ? decision.edited_action.args
          : "editedAction" in decision
            ? decision.editedAction.args
            : decision.args;
      const inner = Action.safeParse(edited);
      return { kind: "edit", args: inner.success && "name" in edited ? inner.data.args : Args.parse(edited) };
    }
    default:
      return { kind: "reject", message: decision.message };
  }
}

const expected =
  'Expected {"decisions":[{"type":"approve"}]}, {"decisions":[{"type":"edit","edited_action":{"name":…,"args":{…}}}]}, or {"decisions":[{"type":"reject","message":"why"}]}.';

/** Whether a message is a plain yes, in English or Chinese. */
export function isAffirmative(message: string): boolean {
  return readWord(message).kind === "approve";
}

/** Matched without surrounding white space: a run of it between two optional parts would take quadratic time. */
const yes = /^(?:yes|y|ok|approve|allow|accept|confirm|confirmed|确认|同意|是|允许)\s*[.!。！]?$/iu;
const no = /^(?:no|n|deny|reject|refuse|拒绝|否|不)\s*[.!。！]?$/iu;

function readWord(word: string): Decision {
  const trimmed = word.trim();
  if (yes.test(trimmed)) return { kind: "approve" };
  if (no.test(trimmed)) return { kind: "reject", message: undefined };
  return { kind: "unclear", problem: expected };
}
