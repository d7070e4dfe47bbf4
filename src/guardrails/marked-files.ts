import { toGlob } from "@millrace/engine/glob";
import type { Operation } from "../tools/runtime/tool.ts";

/**
 * What a call does to files that the operator has marked as critical: a change or a deletion of one of them is that of
 * a critical file, whatever else it is. `paths` are all names of what the call touches; case does not count.
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
