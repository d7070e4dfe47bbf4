import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createLocks } from "../../src/tools/runtime/locks.ts";
import { prepareCall, runTool } from "../../src/tools/runtime/run-tool.ts";
import type { Tool, ToolContext } from "../../src/tools/runtime/tool.ts";
import { toolkitParts } from "./toolkit-services.ts";
import { plainContext } from "../../src/tools/runtime/tool.ts";
import type { ToolResult } from "../../src/tools/runtime/result.ts";

export interface Workspace extends AsyncDisposable {
  /** The workspace lies in `outside`, next to whatever a test puts there. */
  root: string;
  outside: string;
  context: ToolContext;
  /** Writes files below the workspace; a name that ends with / is a folder. */
  fill(files: Record<string, string>): Promise<void>;
  /** Prepares and runs a call the way the loop does; `repeated` as after a crash. */
  call(tool: Tool, input: unknown, repeated?: boolean): Promise<ToolResult>;
}

/** A real folder to work in, removed at the end. */
export async function aWorkspace(): Promise<Workspace> {
  const outside = await realpath(await mkdtemp(join(tmpdir(), "millrace-tools-")));
  const root = join(outside, "workspace");
  await mkdir(root);
  const context = plainContext({
    workspace: root,
    toolkitServices: toolkitParts(root).toolkitServices,
    sessionId: "session",
    callId: "call",
    signal: new AbortController().signal,
  });
  let calls = 0;
  return {
    root,
    outside,
    context,
    async fill(files) {
      for (const [path, content] of Object.entries(files)) {
        if (path.endsWith("/")) await mkdir(join(root, path), { recursive: true });
        else {
          await mkdir(dirname(join(root, path)), { recursive: true });
          await writeFile(join(root, path), content);
        }
      }
    },
    async call(tool, input, repeated = false) {
      const prepared = prepareCall(tool, input);
      if (prepared.kind === "invalid") return prepared.result;
      if (!repeated) calls += 1;
      const here = { ...context, callId: `call-${calls}`, repeated };
      return runTool(tool, prepared.input, here, { locks: createLocks() });
    },
    [Symbol.asyncDispose]: () => rm(outside, { recursive: true, force: true }),
  };
}
