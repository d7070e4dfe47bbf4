import type { ExternalTool } from "./tool-folders.ts";

/** The tools as a model reads them: where each is, whether it can be executed as it is, and its help. */
export function toolsText(tools: readonly ExternalTool[]): string {
  return tools
    .map(({ name, extension, path, executable, help }) =>
      [`## ${name}${extension}`, `File: ${path}`, `Executable: ${executable ? "yes" : "no"}`, help].join("\n"),
    )
    .join("\n\n");
}
