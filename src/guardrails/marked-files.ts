import { toGlob } from "@millrace/engine/glob";
import type { Operation } from "../tools/runtime/tool.ts";

/**
 * Applies the operator's critical files: changing or deleting one counts as a change of a critical file. `paths` are
 * all names of the touched files; case is ignored.
 */
export function withMarks(operation: Operation, paths: readonly string[], marked: readonly string[]): Operation {
  switch (operation.type) {
    case "Create":
    case "SimpleModify":
    case "DeleteFile":
    case "IrreversibleOperation": {
      const path = paths.find((name) => marked.some((pattern) => toGlob(pattern, { caseSensitive: false })(name)));
      return path === undefined ? operation : { type: "ModifyCriticalFile", path };
    }
    default:
      return operation;
  }
}
