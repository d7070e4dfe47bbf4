import { assertNever } from "@millrace/engine/errors/errors";
import { languageOfWords } from "@millrace/engine/language";
import type { Operation } from "../../tools/runtime/tool.ts";
import type { Guardrail, Verdict } from "../guardrail.ts";
import { type AskedOperation, questionFor } from "@millrace/engine/sessions/questions/questions";

/** When a person is asked about a kind of work; an explicit request for that very file may take the question's place. */
export const asksWhen = ["always", "more_than_10_items", "never"] as const;

/** The rule of `confirmation` by kind of work, as clients are told it. */
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

/** Above this many items a batch needs a yes. */
export const batchLimit = 10;

/** The user's words for an explicit wish to delete or overwrite. */
const explicitDelete = /\b(delete|remove|erase)\b|删除|删掉|移除/iu;
const explicitOverwrite =
  /\b(overwrite|replace|rewrite|shorten|clear|empty|trim)\b|覆盖|替换|重写|改写|清空|缩短|精简/iu;
/** A wish for less in a file: to take things out of it is no wish to write over what nobody has read. */
const explicitShorter = new RegExp(`${explicitOverwrite.source}|${explicitDelete.source}`, "iu");
/** The same for another name, which may have another extension. */
const explicitRename = /\b(rename|move|extension)\b|重命名|改名|移动|扩展名|后缀/iu;
/** A wish that something should not happen is no wish for it. */
const negation = /\b(?:do(?:es)? not|don't|never|without|instead of|not to)\b|不要|不能|请勿|别|勿/iu;

/**
 * Which operations a person must confirm. An explicit request for that very file needs no second question; it never
 * covers a folder with something in it, a critical file or anything of high risk.
 */
export const confirmation: Guardrail = ({ operation, userRequest }) => {
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

function ask(operation: AskedOperation, userRequest: string): Verdict {
  return { kind: "ask", question: questionFor(operation, languageOfWords(userRequest)) };
}

/** Whether the user's words ask for this very file to be written over. */
export function asksToOverwrite(request: string, path: string): boolean {
  return names(request, path, explicitOverwrite);
}

function names(request: string, path: string, wish: RegExp): boolean {
  const target = path.replace(/\/+$/u, "");
  return target !== "" && wish.test(request) && !negation.test(request) && namesPath(request, target);
}

/** Whether the path stands in the request as a word of its own: `a.txt` is not named by `data.txt`. */
function namesPath(request: string, target: string): boolean {
  const wordBefore = /[\w./-]$/u;
  const wordAfter = /^[\w/-]|^\.\w/u;
  for (let at = request.indexOf(target); at !== -1; at = request.indexOf(target, at + 1)) {
    const end = at + target.length;
    // A request may be long, and name the path many times.
    const before = request.slice(Math.max(0, at - 1), at);
    const after = request.slice(end, end + 2);
    if (!wordBefore.test(before) && !wordAfter.test(after)) return true;
  }
  return false;
}
