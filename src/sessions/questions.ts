import { z } from "zod";
import { AppError } from "../errors.ts";
import { PathPattern } from "../guardrails/grants.ts";
import { AskedOperation } from "../guardrails/questions.ts";
import { JsonObject } from "../storage/records.ts";

const Hash = z.string().optional().describe("The question's hash as it was shown; another one is refused");

/**
 * A person's decision about one question. `approve`, `edit` and `reject` are for questions about actions; `answer` carries
 * any value to a question of another kind.
 */
export const ApprovalDecision = z
  .discriminatedUnion("type", [
    z.object({
      type: z.literal("approve"),
      remember: z
        .object({ tool: z.string().min(1), path_pattern: PathPattern })
        .optional()
        .describe("Do not ask again for this tool on paths of the workspace that match"),
      hash: Hash,
    }),
    z.object({ type: z.literal("edit"), args: JsonObject, hash: Hash }),
    z.object({ type: z.literal("reject"), message: z.string().max(2000).optional(), hash: Hash }),
    z.object({ type: z.literal("answer"), value: z.unknown(), hash: Hash }),
  ])
  .meta({ ref: "ApprovalDecision" });
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** A stored question, read. `actions` is empty for a question that is not about actions; `kind` is as API-13 names it. */
export interface Question {
  kind: string;
  question: string | null;
  actions: { name: string; args: JsonObject; description: string | undefined; allowed: readonly string[] }[];
  hash: string | null;
  operation: AskedOperation | undefined;
  mayRemember: boolean;
}

const everyDecision = ["approve", "edit", "reject"];
const Action = z
  .object({
    name: z.string(),
    args: JsonObject.optional(),
    arguments: JsonObject.optional(),
    description: z.string().optional(),
  })
  .transform(({ name, args, arguments: given, description }) => ({ name, args: args ?? given ?? {}, description }));
const Review = z
  .object({
    actionName: z.string().optional(),
    action_name: z.string().optional(),
    allowedDecisions: z.array(z.string()).optional(),
    allowed_decisions: z.array(z.string()).optional(),
  })
  .transform((review) => ({
    name: review.actionName ?? review.action_name,
    allowed: review.allowedDecisions ?? review.allowed_decisions ?? everyDecision,
  }));
const Asked = z.object({
  kind: z.string().optional().catch(undefined),
  question: z.string().optional().catch(undefined),
  hash: z.string().optional().catch(undefined),
  operation: AskedOperation.optional().catch(undefined),
  may_remember: z.boolean().default(false).catch(false),
  actionRequests: z.array(Action).optional().catch(undefined),
  action_requests: z.array(Action).optional().catch(undefined),
  reviewConfigs: z.array(Review).optional().catch(undefined),
  review_configs: z.array(Review).optional().catch(undefined),
});

/**
 * What an interrupt asks: one of ours, LangChain's human-in-the-loop request in either spelling, or any value a graph has
 * put there. Never throws.
 */
export function readQuestion(value: unknown): Question {
  const asked = Asked.safeParse(value).data;
  const actions = actionsOf(asked);
  const spoken = typeof value === "string" ? value : null;
  return {
    kind: asked?.kind ?? (actions.length > 0 ? "confirmation" : "question"),
    question: asked?.question ?? actions[0]?.description ?? spoken,
    actions,
    hash: asked?.hash ?? null,
    operation: asked?.operation,
    mayRemember: asked?.may_remember ?? false,
  };
}

function actionsOf(asked: z.infer<typeof Asked> | undefined): Question["actions"] {
  const requested = asked?.actionRequests ?? asked?.action_requests ?? [];
  const reviews = asked?.reviewConfigs ?? asked?.review_configs ?? [];
  return requested.map((action) => ({
    ...action,
    allowed: reviews.find((review) => review.name === action.name)?.allowed ?? everyDecision,
  }));
}

/** The value that a graph is resumed with. Throws `invalid_parameter` for a decision that the question does not take. */
export function resumeValue(question: Question, decision: ApprovalDecision): unknown {
  if (decision.type === "answer") {
    if (question.actions.length === 0) return decision.value;
    throw wrong("This question is about an action; it takes approve, edit or reject, not answer.");
  }
  const [action] = question.actions;
  if (action === undefined) throw wrong(`This question takes {"type":"answer","value":…}, not ${decision.type}.`);
  if (question.actions.some(({ allowed }) => !allowed.includes(decision.type))) {
    throw wrong(`This question takes ${action.allowed.join(", ")}, not ${decision.type}.`);
  }
  if (decision.type === "approve" && decision.remember !== undefined) checkRemember(question, decision.remember.tool);
  if (decision.type === "edit" && question.actions.length > 1) throw wrong("Several actions cannot be edited at once.");
  return { decisions: question.actions.map(() => wireDecision(action.name, decision)) };
}

function checkRemember(question: Question, tool: string): void {
  const name = question.actions[0]?.name;
  if (tool !== name) throw wrong(`remember.tool is ${tool}, but the question is about ${name}.`);
  if (question.mayRemember) return;
  throw wrong(
    "A yes to this operation cannot be remembered: it is of high risk, or deletes a folder with something in it.",
  );
}

/** One decision as LangChain's clients and graphs spell it; an edit stands in both spellings. */
function wireDecision(name: string, decision: Exclude<ApprovalDecision, { type: "answer" }>): JsonObject {
  switch (decision.type) {
    case "approve":
      return { type: "approve" };
    case "edit": {
      const edited = { name, args: decision.args };
      return { type: "edit", edited_action: edited, editedAction: edited };
    }
    case "reject":
      return { type: "reject", ...(decision.message !== undefined && { message: decision.message }) };
  }
}

function wrong(message: string): AppError {
  return new AppError("invalid_parameter", message, { suggestion: "Look at the question and its kind." });
}
