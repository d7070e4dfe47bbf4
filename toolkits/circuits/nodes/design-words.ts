import type { DesignChoice, DesignSuggestion } from "./design-review.ts";

/** The goals' status: a line each, and whether all are met. */
export interface GoalSummary {
  lines: string[];
  areReached: boolean;
}

const labels: Readonly<Record<DesignChoice, readonly [en: string, zh: string]>> = {
  continue_optimizing: ["Continue optimising", "继续优化"],
  modify_goals: ["Modify the goals", "修改目标"],
  fix_error: ["Fix the error", "修复错误"],
  accept_design: ["Accept the design", "接受设计"],
  undo: ["Undo this iteration", "撤回"],
  stop: ["Stop the design", "停止设计"],
};
const values: Readonly<Record<DesignChoice, readonly [en: string, zh: string]>> = {
  continue_optimizing: ["Continue optimising the circuit.", "请继续优化电路。"],
  modify_goals: ["I want to modify the design goals. Ask me which.", "我想修改设计目标，请问我改哪些。"],
  fix_error: ["Fix the error of the simulation.", "请修复仿真错误。"],
  accept_design: ["I accept the design.", "我接受这个设计。"],
  undo: ["Undo the changes of this iteration.", "请撤回这次迭代的修改。"],
  stop: ["Stop the design here.", "到此停止设计。"],
};

/** The available choices: fixing only after a failure, accepting only if the goals are met. */
export function designSuggestions(
  { hasFailed, areReached, canUndo }: { hasFailed: boolean; areReached: boolean; canUndo: boolean },
  isChinese: boolean,
): DesignSuggestion[] {
  const ids: DesignChoice[] = [
    ...(hasFailed ? (["fix_error"] as const) : []),
    ...(areReached && !hasFailed ? (["accept_design"] as const) : []),
    "continue_optimizing",
    "modify_goals",
    ...(canUndo ? (["undo"] as const) : []),
    "stop",
  ];
  const which = isChinese ? 1 : 0;
  return ids.map((id) => ({ id, label: labels[id][which], value: values[id][which] }));
}

/** The choice a text names: by id, label or value, in either language; `null` for other text. */
export function choiceIn(words: string, suggestions: readonly DesignSuggestion[]): DesignSuggestion | null {
  const plain = (text: string): string =>
    text
      .trim()
      .toLowerCase()
      .replace(/[.。！!]$/u, "");
  const wanted = plain(words);
  const found = suggestions.find(({ id, label, value }) =>
    [id, label, value, ...labels[id], ...values[id]].some((text) => plain(text) === wanted),
  );
  return found ?? null;
}

/** A short report of the iteration: its number, the failure or the figures, and the goals. */
export function statusSummary(
  {
    iteration,
    error,
    figures,
    goals,
  }: { iteration: number; error: string | null; figures: string; goals: GoalSummary },
  isChinese: boolean,
): string {
  const say = (en: string, zh: string): string => (isChinese ? zh : en);
  const head = say(`Iteration ${iteration} is done.`, `第 ${iteration} 次迭代完成。`);
  if (error !== null) return `${head}\n${say("The simulation failed: ", "仿真失败：")}${error}`;
  const lines = figures === "" ? [] : [`${say("Figures: ", "指标：")}${figures}`];
  const all = goals.areReached ? [say("All goals are reached.", "目标全部达成。")] : [];
  return [head, ...lines, ...goals.lines.map((line) => `- ${line}`), ...all].join("\n");
}

/** The message at the end of a design. */
export function endingWords(choice: "accept_design" | "stop", isChinese: boolean): string {
  if (choice === "stop")
    return isChinese
      ? "好的，设计到此停止，文件保持现状。"
      : "All right, the design stops here. The files stay as they are.";
  return isChinese ? "设计已接受，文件保持现状。" : "The design is accepted. The files stay as they are.";
}

/** The message after an undone iteration: restored files, and those that failed. */
export function undoWords(done: readonly string[], failed: readonly string[], isChinese: boolean): string {
  const say = (en: string, zh: string): string => (isChinese ? zh : en);
  const none = say("There was nothing to undo.", "没有可以撤回的修改。");
  const lines = [
    ...(done.length === 0 ? [] : [`${say("As before the iteration again", "已恢复到迭代之前")}: ${done.join(", ")}.`]),
    ...(failed.length === 0 ? [] : [`${say("Could not be undone", "无法撤回")}: ${failed.join("; ")}`]),
  ];
  return lines.length === 0 ? none : lines.join("\n");
}
