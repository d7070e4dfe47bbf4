import { placeholdersOf } from "./template.ts";

/** Something about a prompt's text or values. An `error` means that it cannot be used; a `warning` only that it looks wrong. */
export interface PromptProblem {
  kind:
    | "empty"
    | "too_long"
    | "unprintable"
    | "unusable"
    | "unknown_variable"
    | "missing_variable"
    | "missing_value"
    | "odd_name";
  severity: "error" | "warning";
  message: string;
  /** The variable that it is about. */
  variable?: string;
}

/** Characters that a prompt may have. */
export const maxContentLength = 50_000;

/** Which variables a text may and must use, and how bad it is when one that it must use is missing. */
export interface ContentRules {
  variables: readonly string[];
  required: readonly string[];
  missing: PromptProblem["severity"];
}

/** The problems of a text; empty if it is valid. */
export function checkContent(content: string, { variables, required, missing }: ContentRules): PromptProblem[] {
  if (content.trim() === "") {
    return [{ kind: "empty", severity: "error", message: "The text is empty: write one, or reset it to the default." }];
  }
  const problems: PromptProblem[] = [];
  if (content.length > maxContentLength) {
    const message = `The text has ${content.length} characters; at most ${maxContentLength} are allowed.`;
    problems.push({ kind: "too_long", severity: "error", message });
  }
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  if (/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F\uFFFD]/u.test(content)) {
    const message = "The text holds characters that cannot be printed: save it as UTF-8 text.";
    problems.push({ kind: "unprintable", severity: "error", message });
  }
  const used = placeholdersOf(content);
  for (const variable of used.filter((name) => !variables.includes(name))) {
    const known = variables.length === 0 ? "there are none here" : `known are ${variables.join(", ")}`;
    const message = `{${variable}} is not a variable and stays as it is written; ${known}.`;
    problems.push({ kind: "unknown_variable", severity: "warning", message, variable });
  }
  for (const variable of required.filter((name) => !used.includes(name))) {
    const message = `{${variable}} does not stand in the text, so the model would not be told it.`;
    problems.push({ kind: "missing_variable", severity: missing, message, variable });
  }
  return problems;
}

/** Required values that are missing. */
export function checkValues(
  values: Readonly<Record<string, unknown>>,
  { required, missing }: Pick<ContentRules, "required" | "missing">,
): PromptProblem[] {
  return required
    .filter((name) => values[name] === undefined || values[name] === null || values[name] === "")
    .map((variable) => ({
      kind: "missing_value",
      severity: missing,
      message: `The required variable ${variable} has no value.`,
      variable,
    }));
}

/** Whether anything in the list forbids the use. */
export function hasError(problems: readonly PromptProblem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
