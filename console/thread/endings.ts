import type { Call } from "./items.ts";

/** Results of calls that a stop, or a message instead of an answer, has left without one of their own. */
const cutOff =
  /^(?:Not run: the (?:turn was interrupted|question about this call was not answered)|Interrupted while agents were at work;|This tool call was interrupted before it had a result\.)/u;
/** Our tools begin the text of a failure with these words. */
const failure = /^Error \((?<code>\w+)\)/u;
/** What is no failure of a call, but a person's or a rule's no to it. */
const refusals: ReadonlySet<unknown> = new Set(["denied", "blocked"]);

/** How a call ended, by the first words of the result that the model reads. */
export function endOf(result: string): Extract<Call["status"], "done" | "failed" | "refused" | "cut"> {
  if (cutOff.test(result)) return "cut";
  const code = failure.exec(result)?.groups?.["code"];
  if (code === undefined) return "done";
  return refusals.has(code) ? "refused" : "failed";
}

/** Why a call was refused. `said`: the person's own words; of a rule, the rule's. */
export interface Refusal {
  why: "call" | "plan" | "answer" | "late" | "changed" | "rule";
  said: string;
}

const whys: readonly [Refusal["why"], RegExp][] = [
  ["late", /^The user refused this call\. They said: Nobody answered within /u],
  ["call", /^The user (?:refused this call|did not confirm a further tool in this turn)\./u],
  ["plan", /^The user does not want this plan carried out\./u],
  ["answer", /^The user gave no answer\./u],
  ["changed", /^Not run: what .* would do now is not what was approved\./u],
];
/** A person's words stand between what the server says and what it asks of the model. */
const words =
  / They said: (?<said>.*?) (?:Acknowledge it and|Call no further tool;|Do nothing of it;|Do not ask again:)[^\n]*$/su;

/** Reads the result of a refused call, which is written for the model, for a person. */
export function refusalOf(result: string): Refusal {
  const text = result.replace(/^Error \(\w+\): /u, "");
  const why = whys.find(([, pattern]) => pattern.test(text))?.[0] ?? "rule";
  if (why === "rule") return { why, said: text };
  return { why, said: why === "late" ? "" : (words.exec(text)?.groups?.["said"] ?? "") };
}
