import { z } from "zod";
import { AppError, assertNever, type ErrorCode, errorCodes } from "../../errors/errors.ts";
import { PathPattern } from "../../glob.ts";
import { JsonObject } from "../../storage/records.ts";
import type { Language } from "../../language.ts";

/** Why what a call removes is not kept, so that it cannot be undone: more than `most` of it; or what it is. */
const NotKept = z.object({ reason: z.enum(["entries", "bytes", "file_bytes", "kind"]), most: z.number() });
export type NotKept = z.infer<typeof NotKept>;

/** The operations that a rule may ask about, as stored in a question. */
export const OperationInQuestion = z.discriminatedUnion("type", [
  z.object({ type: z.literal("DeleteFile"), path: z.string() }),
  z.object({
    type: z.literal("DeleteFolder"),
    path: z.string(),
    entries: z.number(),
    not_kept: NotKept.nullable().optional(),
  }),
  z.object({ type: z.literal("ModifyCriticalFile"), path: z.string() }),
  z.object({ type: z.literal("BatchOperation"), count: z.number() }),
  z.object({ type: z.literal("IrreversibleOperation"), path: z.string(), overwrites: z.boolean() }),
  z.object({ type: z.literal("HighRiskOperation"), what: z.string(), what_zh: z.string().optional() }),
  z.object({
    type: z.literal("EditDocument"),
    path: z.string(),
    lines_added: z.number(),
    lines_removed: z.number(),
    preview: z.string(),
  }),
]);

export type OperationInQuestion = z.infer<typeof OperationInQuestion>;

const Hash = z.string().optional().describe("The question's hash as it was shown; another one is refused");

const Words = z.string().trim().min(1).max(20_000).describe("The answer in words");

/**
 * A person's decision on a question. `approve`, `edit` and `reject` are for questions about actions; `answer` carries
 * text or any value to other questions, `respond` text. A plan also accepts `approve`, and a question of the model's
 * own `reject`.
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

/** A parsed question. `actions` is empty if it is not about actions; `kind` is its interrupt's kind. */
export interface Question {
  kind: string;
  /** The decision types it accepts. */
  takes: readonly string[];
  question: string | null;
  actions: { name: string; args: JsonObject; description: string | undefined; allowed: readonly string[] }[];
  hash: string | null;
  operation: OperationInQuestion | undefined;
  /** The failure to decide about, and whether there is an alternative. */
  failure: { code: ErrorCode; hasOther: boolean } | undefined;
  mayRemember: boolean;
}

const everyDecision = ["approve", "edit", "reject"];
/** Decisions accepted by questions that are not about actions; the model's own ones can be declined. */
const takesByKind: Record<string, readonly string[]> = {
  followup: ["answer", "respond", "reject"],
  plan_review: ["answer", "respond", "approve", "reject"],
  client_tool: ["answer", "respond", "reject"],
  error_decision: ["answer", "respond", "reject"],
  // Approving accepts the guess in the question.
  clarify: ["answer", "respond", "approve", "reject"],
  // Approving accepts the first suggestion.
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
const QuestionValue = z.object({
  kind: z.string().optional().catch(undefined),
  question: z.string().optional().catch(undefined),
  hash: z.string().optional().catch(undefined),
  operation: OperationInQuestion.optional().catch(undefined),
  error: z.enum(errorCodes).optional().catch(undefined),
  options: z.array(z.unknown()).default([]).catch([]),
  may_remember: z.boolean().default(false).catch(false),
  actionRequests: z.array(Action).optional().catch(undefined),
  action_requests: z.array(Action).optional().catch(undefined),
  reviewConfigs: z.array(Review).optional().catch(undefined),
  review_configs: z.array(Review).optional().catch(undefined),
});

/**
 * Parses an interrupt: one of ours, LangChain's human-in-the-loop request in either spelling, or any other value from a
 * graph. Never throws.
 */
export function readQuestion(value: unknown): Question {
  const parsed = QuestionValue.safeParse(value).data;
  const actions = actionsOf(parsed);
  const spoken = typeof value === "string" ? value : null;
  const kind = parsed?.kind ?? (actions.length > 0 ? "confirmation" : "question");
  return {
    kind,
    takes: actions[0]?.allowed ?? takesByKind[kind] ?? ["answer", "respond"],
    question: parsed?.question ?? actions[0]?.description ?? spoken,
    actions,
    hash: parsed?.hash ?? null,
    operation: parsed?.operation,
    failure: failureOf(kind, parsed),
    mayRemember: parsed?.may_remember ?? false,
  };
}

function failureOf(kind: string, parsed: z.infer<typeof QuestionValue> | undefined): Question["failure"] {
  if (kind !== "error_decision" || parsed?.error === undefined) return undefined;
  return { code: parsed.error, hasOther: parsed.options.includes("TryAlternative") };
}

function actionsOf(parsed: z.infer<typeof QuestionValue> | undefined): Question["actions"] {
  const requested = parsed?.actionRequests ?? parsed?.action_requests ?? [];
  const reviews = parsed?.reviewConfigs ?? parsed?.review_configs ?? [];
  return requested.map((action) => ({
    ...action,
    allowed: reviews.find((review) => review.name === action.name)?.allowed ?? everyDecision,
  }));
}

type WordsDecision = { type: "answer" | "respond" };

/** The value that resumes a graph. Throws `invalid_parameter` for a decision the question does not accept. */
export function resumeValue(question: Question, decision: ApprovalDecision): unknown {
  const [action] = question.actions;
  if (decision.type === "answer" || decision.type === "respond") {
    if (action !== undefined && !question.takes.includes(decision.type)) {
      throw wrong(`This question is about an action; it takes ${action.allowed.join(", ")}, not ${decision.type}.`);
    }
    const answer = decision.type === "answer" ? (decision.text ?? decision.value) : decision.text;
    if (answer === undefined) throw wrong('An answer says something: {"type":"answer","text":"…"}.');
    return answer;
  }
  if (action === undefined) return ofWords(question, decision);
  if (question.actions.some(({ allowed }) => !allowed.includes(decision.type))) {
    throw wrong(`This question takes ${action.allowed.join(", ")}, not ${decision.type}.`);
  }
  if (decision.type === "approve" && decision.remember !== undefined) checkRemember(question, decision.remember.tool);
  if (decision.type === "edit" && question.actions.length > 1) throw wrong("Several actions cannot be edited at once.");
  return { decisions: question.actions.map(() => wireDecision(action.name, decision)) };
}

/** Approval or rejection of a question that is not about an action, if it accepts them. */
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

/** A decision as LangChain's clients and graphs spell it; an edit has both spellings. */
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

/** The question about an operation, in one or two sentences. */
export function questionFor(operation: OperationInQuestion, language: Language): string {
  const inEnglish = language === "en";
  switch (operation.type) {
    case "DeleteFile": {
      const path = shown(operation.path);
      return inEnglish ? `Delete the file ${path}?` : `要删除文件 ${path} 吗？`;
    }
    case "DeleteFolder": {
      const path = shown(operation.path);
      return inEnglish
        ? `Delete the folder ${path} with ${operation.entries} ${operation.entries === 1 ? "item" : "items"} in it?${undoWords(operation, language)}`
        : `要删除文件夹 ${path} 及其中的 ${operation.entries} 项吗？${undoWords(operation, language)}`;
    }
    case "ModifyCriticalFile": {
      const path = shown(operation.path);
      return inEnglish ? `Change the critical file ${path}?` : `要修改关键文件 ${path} 吗？`;
    }
    case "BatchOperation":
      return inEnglish ? `Work on ${operation.count} items at once?` : `要一次处理 ${operation.count} 项吗？`;
    case "IrreversibleOperation": {
      const path = shown(operation.path);
      if (!operation.overwrites) {
        return inEnglish
          ? `Give the file ${path} another extension? Other programs may open it then.`
          : `要更改文件 ${path} 的扩展名吗？之后可能由其他程序打开。`;
      }
      return inEnglish ? `This replaces what ${path} is now. Go on?` : `这会替换 ${path} 现有的内容。要继续吗？`;
    }
    case "HighRiskOperation": {
      const what = shown(inEnglish ? operation.what : (operation.what_zh ?? operation.what));
      return inEnglish ? `This is a high-risk operation: ${what}. Go on?` : `这是高风险操作：${what}。要继续吗？`;
    }
    case "EditDocument": {
      const { path, lines_added: added, lines_removed: removed } = operation;
      const name = path === "" ? (inEnglish ? "the open document" : "当前文档") : shown(path);
      return inEnglish
        ? `Change ${name} in your editor (${added} line(s) added, ${removed} removed)?`
        : `要在编辑器中修改 ${name} 吗（新增 ${added} 行，删除 ${removed} 行）？`;
    }
    default:
      return assertNever(operation);
  }
}

/** Whether a deletion can be undone, and if not, why; nothing where that was not looked at. */
function undoWords({ not_kept }: { not_kept?: NotKept | null | undefined }, language: Language): string {
  const inEnglish = language === "en";
  if (not_kept === undefined) return "";
  if (not_kept === null) return inEnglish ? " You can undo this." : "此操作可以撤销。";
  const { reason, most } = not_kept;
  const size = `${Math.floor(most / 1024 / 1024)} MB`;
  const why = {
    entries: { en: `at most ${most} items are kept`, zh: `最多只保留 ${most} 项` },
    bytes: {
      en: `it has more than ${size}, and no more than that is kept`,
      zh: `内容超过 ${size}，最多只保留 ${size}`,
    },
    file_bytes: {
      en: `a file in it has more than ${size}, and such files are not kept`,
      zh: `其中有超过 ${size} 的文件，这类文件不会保留`,
    },
    kind: { en: "something in it cannot be kept", zh: "其中有无法保留的内容" },
  }[reason][language];
  return inEnglish ? ` This cannot be undone: ${why}.` : `此操作无法撤销：${why}。`;
}

/** Words that confirm a waiting tool call, English and Chinese. */
export const confirmingWords = ["yes", "ok", "confirm", "是", "同意", "确认"] as const;

/** The question about another tool in a guarded turn, with the word that confirms. */
export function chainQuestion(tool: string, language: Language): string {
  const name = shown(tool);
  return language === "en"
    ? `A tool has run already in this turn. Reply "confirm" to let ${name} run too; anything else declines.`
    : `本轮已执行过一个工具。回复“确认”即可继续执行 ${name}；其他回复视为拒绝。`;
}

/** A name without characters that could hide or reverse what a person reads. */
export function shown(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
