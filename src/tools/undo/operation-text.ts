import type { Language } from "@millrace/engine/language";
import type { OperationNote } from "../runtime/tool.ts";

const verbs = {
  en: { create: "Created", modify: "Changed", delete: "Deleted", move: "Moved", edit: "Changed in the editor:" },
  zh: { create: "创建", modify: "修改", delete: "删除", move: "移动", edit: "在编辑器中修改" },
};

/** One line about a change, for a card: what was done to what, and how many lines came and went. */
export function operationText(
  operation: Pick<OperationNote, "type" | "path" | "lines_added" | "lines_removed"> & { old_path: string | null },
  language: Language,
): string {
  const { type, path, old_path, lines_added, lines_removed } = operation;
  const verb = verbs[language][type];
  if (old_path !== null) return language === "en" ? `${verb} ${old_path} to ${path}` : `${verb} ${old_path} 到 ${path}`;
  if (lines_added === null || lines_removed === null) return `${verb} ${path}`;
  return language === "en"
    ? `${verb} ${path} (+${lines_added}, -${lines_removed} lines)`
    : `${verb} ${path}（+${lines_added} 行，-${lines_removed} 行）`;
}
