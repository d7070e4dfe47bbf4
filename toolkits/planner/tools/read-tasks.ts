import { z } from "zod";
import { success } from "../../../src/tools/runtime/result.ts";
import { defineTool } from "../../../src/tools/runtime/tool.ts";
import { taskData, taskLine } from "../tasks/task-form.ts";
import { ViewContext, viewOf } from "../tasks/view-context.ts";
import { tasksOf } from "../tasks/session-tasks.ts";

/** Maximum tasks written out for the model; the client gets all. */
const shownTasks = 50;

/** Lists the tasks of a view. */
export const readTasks = defineTool({
  name: "read_tasks",
  description:
    "Lists the tasks of one view of the planner: daily::YYYY-MM-DD for a day, staging for tasks without a date, " +
    "area::<uuid> for an area.",
  schema: z.object({ view_context: ViewContext }),
  effect: "pure",
  run: async (input, context) => {
    const tasks = await tasksOf(context).find(viewOf(input.view_context), context.signal);
    const data = { tasks: tasks.map(taskData) };
    const message = tasks.length === 1 ? "1 task found." : `${tasks.length} tasks found.`;
    if (tasks.length === 0)
      return success(`No tasks in ${input.view_context}.`, { data, message_zh: "没有找到任务。" });
    const lines = tasks.slice(0, shownTasks).map(taskLine);
    const more = tasks.length > shownTasks ? [`[${tasks.length - shownTasks} more are not shown]`] : [];
    return success(message, {
      content: [message, ...lines, ...more].join("\n"),
      data,
      message_zh: `找到 ${tasks.length} 个任务。`,
    });
  },
  example: { title: "One day", body: '{"view_context": "daily::2026-03-02"}' },
});
