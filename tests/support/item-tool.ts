import { createHash } from "node:crypto";
import { z } from "zod";
import type { TaskStore } from "@millrace/engine/storage/record-stores";
import { success, type ToolResult } from "../../src/tools/runtime/result.ts";
import { defineTool, type Tool, type ToolContext, type ToolSource } from "../../src/tools/runtime/tool.ts";

/** A tool whose effect is a row: `add_item`. A row of a call that had its effect before a crash is found again. */
export function itemTool(rows: TaskStore): Tool {
  return defineTool({
    name: "add_item",
    description: "Adds an item to a list. For several items call it once each.",
    schema: z.object({ title: z.string().describe("the item") }),
    effect: "reconcilable",
    resources: () => ["items"],
    kinds: ["Create"],
    operation: async () => ({ type: "Create" }),
    run: async ({ title }, context) => {
      const at = new Date().toISOString();
      const row = {
        task_id: idOf(context),
        title,
        owner: null,
        session_id: null,
        completed: false,
        area_id: null,
        scheduled_dates: [],
      };
      await rows.create({ ...row, created_at: at, updated_at: at }, context.signal);
      return added(title);
    },
    reconcile: async ({ title }, context) =>
      (await rows.get(idOf(context), context.signal)) === undefined
        ? { kind: "not_done" }
        : { kind: "done", result: added(title) },
  });
}

/** Brings the tool to runs. */
export function itemSource(rows: TaskStore): ToolSource {
  return { tools: async () => [itemTool(rows)], close: async () => undefined };
}

function idOf({ sessionId, callId }: ToolContext): string {
  return createHash("sha256").update(`${sessionId}/${callId}`).digest("hex").slice(0, 32);
}

function added(title: string): ToolResult {
  return success(`Item added: "${title}".`);
}
