import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { searchContent } from "../../../src/tools/files/search-content.ts";
import { ToolkitServices } from "../../../src/tools/runtime/toolkit-services.ts";
import { plainContext } from "../../../src/tools/runtime/tool.ts";

/** A matching line. */
export interface SearchHit {
  path: string;
  /** From 1. */
  line: number;
  text: string;
}

/** Searches the relevant files for any of some names; hits are in file order. */
export type SearchText = (terms: readonly string[], signal: AbortSignal) => Promise<SearchHit[]>;

const Found = z.object({ matches: z.array(z.object({ path: z.string(), line: z.number(), text: z.string() })) });

/** Searches the workspace's circuits and notes, using the models' search tool. */
export function searchWorkspace({ workspace, session }: { workspace: string; session: string }): SearchText {
  return async (terms, signal) => {
    const names = terms.map((term) => term.replaceAll(/\W/gu, "\\$&"));
    const input = {
      path: ".",
      regex: `(?i)(?:^|\\W)(?:${names.join("|")})(?:\\W|$)`,
      file_pattern: "*.{cir,sp,spice,sub,inc,lib,mod,md,txt,json}",
      context_lines: 0,
    };
    const toolkitServices = new ToolkitServices();
    const context = plainContext({ workspace, sessionId: session, toolkitServices, callId: "", signal });
    const result = await searchContent.run(input, context);
    if (!result.success)
      throw new AppError("execution_failed", `The workspace could not be searched: ${result.message}`);
    return Found.parse(result.data).matches;
  };
}
