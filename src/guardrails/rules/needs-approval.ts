import { assertNever } from "@millrace/engine/errors/errors";
import { languageOfWords } from "@millrace/engine/language";
import type { Operation } from "../../tools/runtime/tool.ts";
import type { Guardrail, Verdict } from "../guardrail.ts";
import { type OperationInQuestion, questionFor } from "@millrace/engine/sessions/questions/questions";

/** When a kind of operation needs approval; an explicit request for that very file may replace it. */
export const asksWhen = ["always", "more_than_10_items", "never"] as const;

/** The rule by kind of operation, as clients see it. */
export const confirmationOf: Record<Operation["type"], (typeof asksWhen)[number]> = {
  DeleteFile: "always",
  DeleteFolder: "always",
  ModifyCriticalFile: "always",
  HighRiskOperation: "always",
  BatchOperation: "more_than_10_items",
  IrreversibleOperation: "always",
  EditDocument: "always",
  Query: "never",
  Create: "never",
  SimpleModify: "never",
};

/** Larger batches need approval. */
export const batchLimit = 10;

/** Explicit requests to delete or overwrite. */
const explicitDelete = /\b(delete|remove|erase)\b|删除|删掉|移除/iu;
const explicitOverwrite =
  /\b(overwrite|replace|rewrite|shorten|clear|empty|trim)\b|覆盖|替换|重写|改写|清空|缩短|精简/iu;
/** Requests to shorten a file; removing parts is no request to overwrite an unread file. */
const explicitShorter = new RegExp(`${explicitOverwrite.source}|${explicitDelete.source}`, "iu");
/** Explicit requests to rename, which may change the extension. */
const explicitRename = /\b(rename|move|extension)\b|重命名|改名|移动|扩展名|后缀/iu;
/** Negations, which are no request. */
const negation = /\b(?:do(?:es)? not|don't|never|without|instead of|not to)\b|不要|不能|请勿|别|勿/iu;

/**
 * Decides which operations need approval. An explicit request for that very file replaces it, but never for a non-empty
 * folder, a critical file or high risk.
 */
export const needsApproval: Guardrail = ({ operation, userRequest }) => {
  switch (operation.type) {
    case "DeleteFile":
      return names(userRequest, operation.path, explicitDelete) ? allow : ask(operation, userRequest);
    case "DeleteFolder":
      return operation.entries === 0 && names(userRequest, operation.path, explicitDelete)
        ? allow
        : ask(operation, userRequest);
    case "BatchOperation":
      return operation.count > batchLimit ? ask(operation, userRequest) : allow;
    case "IrreversibleOperation":
      return names(userRequest, operation.path, operation.overwrites ? explicitShorter : explicitRename)
        ? allow
        : ask(operation, userRequest);
    case "ModifyCriticalFile":
    case "HighRiskOperation":
    case "EditDocument":
      return ask(operation, userRequest);
    case "Query":
    case "Create":
    case "SimpleModify":
      return allow;
    default:
      return assertNever(operation);
  }
};

const allow: Verdict = { kind: "allow" };

function ask(operation: OperationInQuestion, userRequest: string): Verdict {
  return { kind: "ask", question: questionFor(operation, languageOfWords(userRequest)) };
}

/** Whether the user asks to overwrite this very file. */
export function asksToOverwrite(request: string, path: string): boolean {
  return names(request, path, explicitOverwrite);
}

function names(request: string, path: string, pattern: RegExp): boolean {
  const target = path.replace(/\/+$/u, "");
  return target !== "" && pattern.test(request) && !negation.test(request) && namesPath(request, target);
}

/** Whether the request contains the path as a separate word: `data.txt` does not name `a.txt`. */
function namesPath(request: string, target: string): boolean {
  const wordBefore = /[\w./-]$/u;
  const wordAfter = /^[\w/-]|^\.\w/u;
  for (let at = request.indexOf(target); at !== -1; at = request.indexOf(target, at + 1)) {
    const end = at + target.length;
    // A long request may contain the path many times.
    const before = request.slice(Math.max(0, at - 1), at);
    const after = request.slice(end, end + 2);
    if (!wordBefore.test(before) && !wordAfter.test(after)) return true;
  }
  return false;
}
