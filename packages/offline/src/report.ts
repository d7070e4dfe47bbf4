import type { Language } from "@millrace/engine/language";
import { doneWords, goal, type Action } from "./actions.ts";
import type { Exchange } from "./conversation.ts";
import type { Outcome } from "./steps.ts";
import { say } from "./text.ts";

/** Lines of a result repeated in the answer, alone and among others. */
const [linesAlone, linesAmongOthers] = [200, 40];

/** A completed action and its outcome. */
export interface Ended {
  action: Action;
  outcome: Outcome;
}

/** The final answer: a paragraph per action with its result. */
export function report(ended: Ended[], left: string[], language: Language): string {
  const lines = ended.length === 1 ? linesAlone : linesAmongOthers;
  const paragraphs = ended.map((one) => paragraph(one, lines, language));
  if (left.length > 0) {
    paragraphs.push(say(language, `Not done: ${left.join("; ")}.`, `尚未完成：${left.join("；")}。`));
  }
  const hasLines = paragraphs.some((one) => one.includes("\n"));
  return paragraphs.join(hasLines ? "\n\n" : say(language, " ", ""));
}

function paragraph({ action, outcome }: Ended, lines: number, language: Language): string {
  if (outcome.kind === "done") {
    const isSummary = action.kind === "summarize" && action.into === undefined;
    const text = language === "zh" ? inChinese(action, outcome.text) : outcome.text;
    return isSummary ? text : doneWords(action, shown(text, lines, language), language);
  }
  const what = goal(action, language);
  if (outcome.kind === "failed" && outcome.exchange?.isDenied === true) {
    return say(language, `I did not ${what}: it was not approved.`, `没有${what}：操作未获批准。`);
  }
  const reason = reasonOf(outcome, language);
  return say(language, `I could not ${what}: ${reason}`, `无法${what}：${reason}`);
}

function reasonOf(outcome: Exclude<Outcome, { kind: "done" }>, language: Language): string {
  if (outcome.kind === "failed") return say(language, problemOf(outcome.exchange), "原因见工具的结果。");
  if (outcome.kind === "no_tool")
    return say(language, `there is no tool ${outcome.tool} here.`, `这里没有工具 ${outcome.tool}。`);
  return outcome.kind === "no_task"
    ? say(language, "there is no such task.", "没有这个任务。")
    : say(language, "the file is too long for me to read whole.", "文件太长，我无法完整读取。");
}

/** A failure's text, without the loop's prefix, redundant parts, and advice for the model. */
function problemOf(exchange: Exchange | undefined): string {
  const message = exchange?.text.replace(/^Error(?: \(\w+\))?:\s*|\s*Ask the user\b[\s\S]*/gu, "").trim() ?? "";
  const problem = message.replace(/^"[^"\n]+" cannot be read\.\s+(?=\S)/u, "");
  return problem === "" ? (exchange?.name ?? "") : problem.slice(0, 400);
}

/** Removes the English words that a tool adds to its content. */
function inChinese(action: Action, text: string): string {
  if (action.kind === "read" && /\.pdf$/iu.test(action.path))
    return text.replaceAll(/^## Page (\d+)$/gmu, "## 第 $1 页");
  if (action.kind !== "simulate") return text;
  const translated = text.replace(/^Simulated [^\n:]+: /u, "分析：").replace(/^Figures: /mu, "指标：");
  return translated.replace(/^Result: /mu, "结果文件：").replaceAll(/\.$/gmu, "。");
}

function shown(text: string, lines: number, language: Language): string {
  const all = text.split("\n");
  if (all.length <= lines) return text;
  const more = all.length - lines;
  return `${all.slice(0, lines).join("\n")}\n${say(language, `… and ${more} more lines.`, `……还有 ${more} 行。`)}`;
}
