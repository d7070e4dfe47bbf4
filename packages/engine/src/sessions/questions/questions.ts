import { z } from "zod";
import { AppError, errorCodes, type ErrorCode } from "../../errors/errors.ts";
import { PathPattern } from "../../glob.ts";
import { AskedOperation } from "./operation-questions.ts";
import { JsonObject } from "../../storage/records.ts";

const Hash = z.string().optional().describe("The question's hash as it was shown; another one is refused");

const Words = z.string().trim().min(1).max(20_000).describe("The answer in words");

/**
 * A person's decision about one question. `approve`, `edit` and `reject` are for questions about actions; `answer`
 * carries words, or any value, to a question of another kind, and `respond` words. A plan takes `approve`, and a
 * question of the model's own `reject`, too.
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
    z.object({ type: z.literal("answer"), value: z.unknown().optional(), text: Words.optional(), hash: Hash }),
    z.object({ type: z.literal("respond"), text: Words, hash: Hash }),
  ])
  .meta({ ref: "ApprovalDecision" });
export type ApprovalDecision = z.infer<typeof ApprovalDecision>;

/** A stored question, read. `actions` is empty for a question that is not about actions; `kind` is the kind of its interrupt. */
export interface Question {
  kind: string;
  /** The types of decision that it takes. */
  takes: readonly string[];
  question: string | null;
  actions: { name: string; args: JsonObject; description: string | undefined; allowed: readonly string[] }[];
  hash: string | null;
  operation: AskedOperation | undefined;
  /** The failure that a person decides about, and whether there is another way to try. */
  failure: { code: ErrorCode; hasOther: boolean } | undefined;
  mayRemember: boolean;
}

const everyDecision = ["approve", "edit", "reject"];
/** What a question takes that is not about actions; the model's own ones can be declined. */
const takesByKind: Record<string, readonly string[]> = {
  followup: ["answer", "respond", "reject"],
  plan_review: ["answer", "respond", "approve", "reject"],
  client_tool: ["answer", "respond", "reject"],
  error_decision: ["answer", "respond", "reject"],
  // A yes is one to the guess that goes with the question.
  clarify: ["answer", "respond", "approve", "reject"],
  // A yes is one to the first suggestion.
  design_checkpoint: ["answer", "respond", "approve", "reject"],
};
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
  error: z.enum(errorCodes).optional().catch(undefined),
  options: z.array(z.unknown()).default([]).catch([]),
  may_remember: z.boolean().default(false).catch(false),
  actionRequests: z.array(Action).optional().catch(undefined),
  action_requests: z.array(Action).optional().catch(undefined),
  reviewConfigs: z.array(Review).optional().catch(undefined),
  review_configs: z.array(Review).optional().catch(undefined),
});

/**
 * What an interrupt asks: one of ours, LangChain's human-in-the-loop request in either spelling, or any value a graph
 * has put there. Never throws.
 */
export function readQuestion(value: unknown): Question {
  const asked = Asked.safeParse(value).data;
  const actions = actionsOf(asked);
  const spoken = typeof value === "string" ? value : null;
  const kind = asked?.kind ?? (actions.length > 0 ? "confirmation" : "question");
  return {
    kind,
    takes: actions[0]?.allowed ?? takesByKind[kind] ?? ["answer", "respond"],
    question: asked?.question ?? actions[0]?.description ?? spoken,
    actions,
    hash: asked?.hash ?? null,
    operation: asked?.operation,
    failure: failureOf(kind, asked),
    mayRemember: asked?.may_remember ?? false,
  };
}

function failureOf(kind: string, asked: z.infer<typeof Asked> | undefined): Question["failure"] {
  if (kind !== "error_decision" || asked?.error === undefined) return undefined;
  return { code: asked.error, hasOther: asked.options.includes("TryAlternative") };
}

function actionsOf(asked: z.infer<typeof Asked> | undefined): Question["actions"] {
  const requested = asked?.actionRequests ?? asked?.action_requests ?? [];
  const reviews = asked?.reviewConfigs ?? asked?.review_configs ?? [];
  return requested.map((action) => ({
    ...action,
    allowed: reviews.find((review) => review.name === action.name)?.allowed ?? everyDecision,
  }));
}

type WordsDecision = { type: "answer" | "respond" };

/** The value that a graph is resumed with. Throws `invalid_parameter` for a decision that the question does not take. */
export function resumeValue(question: Question, decision: ApprovalDecision): unknown {
  const [action] = question.actions;
  if (decision.type === "answer" || decision.type === "respond") {
    if (action !== undefined && !question.takes.includes(decision.type)) {
      throw wrong(`This question is about an action; it takes ${action.allowed.join(", ")}, not ${decision.type}.`);
    }
    const said = decision.type === "answer" ? (decision.text ?? decision.value) : decision.text;
    if (said === undefined) throw wrong('An answer says something: {"type":"answer","text":"…"}.');
    return said;
  }
  if (action === undefined) return ofWords(question, decision);
  if (question.actions.some(({ allowed }) => !allowed.includes(decision.type))) {
    throw wrong(`This question takes ${action.allowed.join(", ")}, not ${decision.type}.`);
  }
  if (decision.type === "approve" && decision.remember !== undefined) checkRemember(question, decision.remember.tool);
  if (decision.type === "edit" && question.actions.length > 1) throw wrong("Several actions cannot be edited at once.");
  return { decisions: question.actions.map(() => wireDecision(action.name, decision)) };
}

/** A yes or a no to a question that is not about an action, for those that take one. */
function ofWords({ takes }: Question, { type, ...more }: Exclude<ApprovalDecision, WordsDecision>): JsonObject {
  if (!takes.includes(type)) {
    throw wrong(`This question takes {"type":"answer","value":…} or {"type":"answer","text":"…"}, not ${type}.`);
  }
  return { type, ...("message" in more && more.message !== undefined ? { message: more.message } : {}) };
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
function wireDecision(name: string, decision: Exclude<ApprovalDecision, WordsDecision>): JsonObject {
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
