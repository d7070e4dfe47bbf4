import { z } from "zod";
import { failure, success, type ToolResult } from "../../tools/runtime/result.ts";
import type { UserQuestion } from "../../tools/runtime/tool.ts";

/** The interrupt of a call that asks the user or runs on the client. */
export interface QuestionRequest extends UserQuestion {
  tool_call_id: string;
  tool: string;
  /** Why the last answer could not be used. */
  problem?: string;
}

/** Builds the interrupt for one call. */
export function questionRequest(
  call: { id: string; name: string },
  question: UserQuestion,
  problem?: string,
): QuestionRequest {
  return { ...question, tool_call_id: call.id, tool: call.name, ...(problem === undefined ? {} : { problem }) };
}

const Text = z.string().trim().min(1);
const AnswerText = z.union([
  z.object({ type: z.enum(["answer", "respond", "response"]), text: Text }).transform(({ text }) => text),
  z.object({ type: z.enum(["answer", "respond", "response"]), value: Text }).transform(({ value }) => value),
  z.object({ type: z.enum(["respond", "response"]), args: Text }).transform(({ args }) => args),
  z.object({ type: z.enum(["respond", "response"]), message: Text }).transform(({ message }) => message),
  Text,
]);
const Agreed = z.union([z.literal(true), z.object({ type: z.enum(["approve", "accept"]) })]);
const Declined = z.union([
  z.literal(false).transform(() => ({ message: undefined })),
  z.object({ type: z.enum(["reject", "ignore", "deny"]), message: z.string().optional() }),
]);
const Wrapped = z.union([
  z.object({ decisions: z.tuple([z.unknown()]) }).transform(({ decisions }) => decisions[0]),
  z.tuple([z.unknown()]).transform(([only]) => only),
]);

/** The user's answer: text, agreement, refusal, or something unusable. */
export type UserAnswer =
  | { kind: "words"; text: string }
  | { kind: "agreed" }
  | { kind: "declined"; why: string }
  | { kind: "unclear"; problem: string };

/**
 * Reads an answer in the spellings of clients: text, `{type: "answer" | "respond", text}`, `approve` or `reject`,
 * wrapped or not.
 */
export function readUserAnswer(answer: unknown): UserAnswer {
  const wrapped = Wrapped.safeParse(answer);
  const given: unknown = wrapped.success ? wrapped.data : answer;
  const parsedText = AnswerText.safeParse(given);
  if (parsedText.success) return { kind: "words", text: parsedText.data };
  if (Agreed.safeParse(given).success) return { kind: "agreed" };
  const declined = Declined.safeParse(given);
  if (!declined.success) return { kind: "unclear", problem: expected };
  return { kind: "declined", why: declined.data.message?.trim() ?? "" };
}

/** The call's result, or why the answer is unusable. */
export type ReadAnswer = { kind: "result"; result: ToolResult } | { kind: "unclear"; problem: string };

/**
 * The result of a call that asked the user; plain agreement counts only for a plan. A refusal is a result too, so that
 * the model goes on without the answer. `isPlanning`: nothing may be carried out yet.
 */
export function readAnswer(
  answer: unknown,
  { kind }: Pick<UserQuestion, "kind">,
  isPlanning: boolean = false,
): ReadAnswer {
  const given = readUserAnswer(answer);
  if (given.kind === "words") {
    if (kind === "client_tool") return result(success("The client answered.", { content: given.text }));
    return result(success("The user answered.", { content: `The user answered: ${given.text}` }));
  }
  if (given.kind === "agreed" && kind === "plan_review") {
    const next = isPlanning
      ? "Nothing can be carried out in plan mode: say in one sentence that they can switch to acting."
      : "Carry it out now.";
    return result(success("The user agreed.", { content: `The user agrees with the plan. ${next}` }));
  }
  if (given.kind !== "declined") return { kind: "unclear", problem: expected };
  const why = given.why === "" ? "" : ` They said: ${given.why}`;
  if (kind === "client_tool") return result(failure("denied", `The client did not carry out this call.${why}`));
  return result(
    kind === "plan_review"
      ? failure(
          "denied",
          `The user does not want this plan carried out.${why}`,
          "Do nothing of it; say so in one sentence.",
        )
      : failure(
          "denied",
          `The user gave no answer.${why}`,
          "Do not ask again: state an assumption and go on, or say what is missing.",
        ),
  );
}

function result(value: ToolResult): ReadAnswer {
  return { kind: "result", result: value };
}

const expected = 'Expected words, {"type":"answer","text":"…"}, or {"type":"reject","message":"why"}.';
