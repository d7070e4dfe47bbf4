import { z } from "zod";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { noTask, TaskId } from "../tasks/task-form.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Deletes a task. Needs approval only if configured. */
export const deleteTask = defineTool({
  name: "delete_task",
  description: "Deletes one task from the planner, with its dates.",
  schema: z.object({ task_id: TaskId }),
  effect: "idempotent",
  resources: () => ["tasks"],
  kinds: ["SimpleModify", "HighRiskOperation"],
  async operation({ task_id }, context) {
    if (!context.extraApprovals.deletedTasks) return { type: "SimpleModify" };
    const task = await tasksOf(context).get(task_id, context.signal);
    // The approving person sees the task's title: an id alone would say nothing.
    if (task === undefined) {
      return { type: "HighRiskOperation", what: `delete the task ${task_id}`, what_zh: `删除任务 ${task_id}` };
    }
    const days = task.scheduled_dates.join(", ");
    return {
      type: "HighRiskOperation",
      what: `delete the task "${task.title}"${days === "" ? "" : ` (${days})`}`,
      what_zh: `删除任务“${task.title}”${days === "" ? "" : `（${days}）`}`,
    };
  },
  run: async (input, context) => {
    const task = await tasksOf(context).get(input.task_id, context.signal);
    const isDeleted = await tasksOf(context).delete(input.task_id, context.signal);
    if (!isDeleted && !context.repeated) throw noTask(input.task_id);
    return success(task ? `Task deleted: "${task.title}".` : "Task deleted.", {
      data: null,
      message_zh: task ? `任务「${task.title}」已删除。` : "任务已删除。",
    });
  },
  example: { title: "Delete", body: '{"task_id": "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11"}' },
});
