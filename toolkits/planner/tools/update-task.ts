import { z } from "zod";
import { failure, success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { noTask, taskData, TaskId, taskLine, Title } from "../tasks/task-form.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Changes a task's title or done mark; omitted fields stay. */
export const updateTask = defineTool({
  name: "update_task",
  description: "Changes the title of a planner task, or marks it as completed or not. Only what is given is changed.",
  schema: z.object({
    task_id: TaskId,
    title: Title.optional().describe("the new title"),
    completed: z.boolean().optional().describe("true when the task is done"),
  }),
  effect: "idempotent",
  resources: () => ["tasks"],
  kinds: ["SimpleModify"],
  operation: async () => ({ type: "SimpleModify" }),
  run: async (input, context) => {
    const { title, completed } = input;
    if (title === undefined && completed === undefined) {
      return failure(
        "missing_parameter",
        "Nothing to change: neither title nor completed is given.",
        "Give one of them.",
      );
    }
    const changes = { ...(title === undefined ? {} : { title }), ...(completed === undefined ? {} : { completed }) };
    const task = await tasksOf(context).update(input.task_id, changes, context.signal);
    if (!task) throw noTask(input.task_id);
    return success(`Task updated: "${task.title}".`, {
      content: `Task updated: ${taskLine(task)}`,
      data: taskData(task),
      message_zh: `任务「${task.title}」已更新。`,
    });
  },
  example: { title: "Done", body: '{"task_id": "019c0b6e-5b6c-7c3e-8d5a-2f6f0a4c9b11", "completed": true}' },
});
