import { errorQuestion } from "../../errors/error-texts.ts";
import type { Language } from "../../language.ts";
import { chainQuestion, questionFor } from "../../sessions/questions/operation-questions.ts";
import type { Question } from "../../sessions/questions/questions.ts";

/** Questions of ours stand in the reader's language; those of graphs and of the model as they were asked. */
export function questionText(
  { kind, actions, operation, failure, question }: Question,
  language: Language,
): string | null {
  if (operation !== undefined) return questionFor(operation, language);
  const [action] = actions;
  if (kind === "chain_confirm" && action !== undefined) return chainQuestion(action.name, language);
  return failure === undefined ? question : errorQuestion(failure.code, failure.hasOther, language);
}
