import { createSchedule } from "./create-schedule.ts";
import { createTask } from "./create-task.ts";
import { deleteTask } from "./delete-task.ts";
import { readTasks } from "./read-tasks.ts";
import { taskStatistics } from "./task-statistics.ts";
import { updateTask } from "./update-task.ts";

/** The planner's tools by name. */
export const plannerTools = {
  create_task: createTask,
  read_tasks: readTasks,
  update_task: updateTask,
  create_schedule: createSchedule,
  delete_task: deleteTask,
  task_statistics: taskStatistics,
};
