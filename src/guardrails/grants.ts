import { toGlob } from "@millrace/engine/glob";
import type { Operation } from "../tools/runtime/tool.ts";

/** Whether an approval of this operation may be remembered: never for high risk or a non-empty folder. */
export function mayRemember(operation: Operation): boolean {
  switch (operation.type) {
    case "DeleteFile":
    case "ModifyCriticalFile":
    case "IrreversibleOperation":
      return true;
    case "DeleteFolder":
      return operation.entries === 0;
    default:
      return false;
  }
}

/**
 * Whether a remembered approval covers a call of `tool`. All `paths` (as written and with links resolved) must match,
 * so that a link does not widen it.
 */
export function grantCovers(
  grant: { tool: string; path_pattern: string },
  call: { tool: string; paths: readonly string[] },
): boolean {
  if (grant.tool !== call.tool || call.paths.length === 0) return false;
  const matches = toGlob(grant.path_pattern, { caseSensitive: true });
  return call.paths.every((path) => matches(path));
}
