import { z } from "zod";
import { assertNever } from "../../errors/errors.ts";
import type { Language } from "../../language.ts";

/** The operations that a rule may ask about, as they stand in a stored question. */
export const AskedOperation = z.discriminatedUnion("type", [
  z.object({ type: z.literal("DeleteFile"), path: z.string() }),
  z.object({ type: z.literal("DeleteFolder"), path: z.string(), entries: z.number() }),
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
export type AskedOperation = z.infer<typeof AskedOperation>;

/** The question to a person about an operation, in one sentence or two. */
export function questionFor(operation: AskedOperation, language: Language): string {
  const inEnglish = language === "en";
  switch (operation.type) {
    case "DeleteFile": {
      const path = shown(operation.path);
      return inEnglish ? `Delete the file ${path}?` : `要删除文件 ${path} 吗？`;
    }
    case "DeleteFolder": {
      const path = shown(operation.path);
      return inEnglish
        ? `Delete the folder ${path} with ${operation.entries} item(s) in it? If it is large, this cannot be undone.`
        : `要删除文件夹 ${path} 及其中的 ${operation.entries} 项吗？如果内容较大，此操作将无法撤销。`;
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

/** Words of which each is a yes where a tool call waits for one, English and Chinese. */
export const confirmingWords = ["yes", "ok", "confirm", "是", "同意", "确认"] as const;

/** The question about a further tool of a guarded turn, with the word that confirms. */
export function chainQuestion(tool: string, language: Language): string {
  const name = shown(tool);
  return language === "en"
    ? `A tool has run already in this turn. Reply "confirm" to let ${name} run too; anything else declines.`
    : `本轮已执行过一个工具。回复“确认”即可继续执行 ${name}；其他回复视为拒绝。`;
}

/** A name without characters that could hide or turn round what a person reads. */
export function shown(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
  });
}
