import { z } from "zod";
import { AppError } from "@millrace/engine/errors/errors";
import { failure, success, type ToolResult } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { Content, MemoryChange, memoryLine, MemoryInput, noMemory, Slot } from "../memories/memory.ts";
import { memoriesKey } from "../memories/session-memories.ts";
import type { MemoryStore } from "../memories/memory-store.ts";

/** Maximum memories returned by a search. */
const found = 20;

const Input = z.object({
  action: z.enum(["save", "update", "delete", "search"]).describe("update and delete need memory_id, search a query"),
  kind: z
    .enum(["fact", "preference", "entity"])
    .optional()
    .describe("entity: the one value of a slot, such as employer; default fact"),
  slot: Slot.optional().describe("for an entity: name, employer, city, …"),
  content: Content.optional().describe("one short sentence, in the user's language"),
  memory_id: z.string().max(100).optional().describe("the id in brackets"),
  query: z.string().max(1000).optional().describe("what to look for"),
});
type Input = z.infer<typeof Input>;

/** Saves, changes, finds and deletes memories about the user. */
export const manageMemory = defineTool({
  name: "manage_memory",
  description:
    "Long-term memory about the user, kept across conversations. Save when the user asks you to remember something or " +
    "states a lasting fact or preference; update or delete what has changed. Never save secrets or what only this task needs.",
  schema: Input,
  effect: "idempotent",
  kinds: ["Query", "SimpleModify"],
  operation: async ({ action }) => ({ type: action === "search" ? "Query" : "SimpleModify" }),
  async run(input, context) {
    const memories = context.toolkitServices.find(memoriesKey);
    if (memories?.isOn !== true) throw switchedOff();
    return await actions[input.action](input, await memories.own(), context.repeated);
  },
  example: {
    title: "Remember a preference",
    body: '{"action": "save", "kind": "preference", "content": "Wants answers in metric units"}',
  },
});

type Act = (input: Input, store: MemoryStore, isRepeated: boolean) => Promise<ToolResult>;

const actions: Readonly<Record<Input["action"], Act>> = {
  async save({ kind = "fact", slot, content }, store) {
    if (content === undefined) return missing("content", "save");
    const input = MemoryInput.safeParse({ kind, slot, content });
    if (!input.success)
      return failure("invalid_parameter", input.error.issues.map(({ message }) => message).join("; "));
    const { memory, isMerged } = await store.save(input.data);
    const what = isMerged ? "Memory updated, it was there before" : "Saved to memory";
    return success(`${what}: ${memory.content}`, {
      content: `${what}:\n${memoryLine(memory)}`,
      data: memory,
      message_zh: `${isMerged ? "已更新记忆" : "已记住"}：${memory.content}`,
    });
  },
  async update({ memory_id, kind, slot, content }, store) {
    if (memory_id === undefined) return missing("memory_id", "update");
    const change = MemoryChange.safeParse({ kind, slot, content });
    if (!change.success) return missing("content", "update");
    const memory = await store.update(memory_id, change.data);
    const message = `Memory updated: ${memory.content}`;
    return success(message, {
      content: `Memory updated:\n${memoryLine(memory)}`,
      data: memory,
      message_zh: `已更新记忆：${memory.content}`,
    });
  },
  async delete({ memory_id }, store, isRepeated) {
    if (memory_id === undefined) return missing("memory_id", "delete");
    if (!(await store.delete(memory_id)) && !isRepeated) throw noMemory(memory_id);
    return success("Deleted from memory.", { data: null, message_zh: "已从记忆中删除。" });
  },
  async search({ query }, store) {
    if (query === undefined) return missing("query", "search");
    const memories = await store.search(query, found);
    if (memories.length === 0) {
      return success("Nothing in memory about that.", { data: [], message_zh: "记忆中没有相关内容。" });
    }
    const message = memories.length === 1 ? "1 memory found." : `${memories.length} memories found.`;
    return success(message, {
      content: memories.map(memoryLine).join("\n"),
      data: memories,
      message_zh: `找到 ${memories.length} 条记忆。`,
    });
  },
};

function missing(parameter: string, action: string): ToolResult {
  return failure("missing_parameter", `The action ${action} needs ${parameter}.`, "Call it again with it.");
}

function switchedOff(): AppError {
  return new AppError("config", "Memory is switched off on this server; nothing was read or saved.", {
    suggestion: "The operator switches it on with MILLRACE_MEMORY=on.",
  });
}
