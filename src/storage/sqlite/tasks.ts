import { AppError } from "../../errors.ts";
import type { Task } from "../records.ts";
import type { TaskStore } from "../storage.ts";
import { isConstraint, type Database } from "./database.ts";
import type { GroupCommit } from "./durable.ts";
import { readRow, readRows, TaskRow } from "./rows.ts";

const columns = "task_id, title, completed, area_id, scheduled_dates, created_at, updated_at";

function toRow(task: Task) {
  return { ...task, completed: Number(task.completed), scheduled_dates: JSON.stringify(task.scheduled_dates) };
}

/** The condition of the view that `filter` names (PLANNER-02); an empty filter takes every task. */
function condition(filter: Parameters<TaskStore["find"]>[0]): { where: string; parameters: string[] } {
  if (filter.day !== undefined) {
    return { where: "WHERE ? IN (SELECT value FROM json_each(scheduled_dates))", parameters: [filter.day] };
  }
  if (filter.staging === true) return { where: "WHERE scheduled_dates = '[]'", parameters: [] };
  if (filter.area_id !== undefined) return { where: "WHERE area_id = ?", parameters: [filter.area_id] };
  return { where: "", parameters: [] };
}

/** The planner's tasks in SQLite (PLANNER-01). Creating an existing id throws `conflict`. */
export function createTaskStore(database: Database, commits: GroupCommit): TaskStore {
  const find = (taskId: string): Task | undefined =>
    readRow(TaskRow, "tasks", database.prepare(`SELECT ${columns} FROM tasks WHERE task_id = ?`).get(taskId));

  return {
    create(task) {
      return commits.transaction(() => {
        try {
          database
            .prepare(
              `INSERT INTO tasks (${columns})
               VALUES (@task_id, @title, @completed, @area_id, @scheduled_dates, @created_at, @updated_at)`,
            )
            .run(toRow(task));
        } catch (error) {
          if (isConstraint(error)) throw new AppError("conflict", `A task "${task.task_id}" already exists.`);
          throw error;
        }
        return task;
      });
    },

    async get(taskId) {
      return database.read(() => find(taskId));
    },

    update(taskId, patch) {
      return commits.transaction(() => {
        const task = find(taskId);
        if (task === undefined) return undefined;
        const next: Task = { ...task, updated_at: new Date().toISOString(), ...patch };
        database
          .prepare(
            `UPDATE tasks SET title = @title, completed = @completed, area_id = @area_id,
             scheduled_dates = @scheduled_dates, updated_at = @updated_at WHERE task_id = @task_id`,
          )
          .run(toRow(next));
        return next;
      });
    },

    delete(taskId) {
      return commits.transaction(() => database.prepare("DELETE FROM tasks WHERE task_id = ?").run(taskId).changes > 0);
    },

    async find(filter) {
      const { where, parameters } = condition(filter);
      return database.read(() =>
        readRows(
          TaskRow,
          "tasks",
          database.prepare(`SELECT ${columns} FROM tasks ${where} ORDER BY created_at, id`).all(...parameters),
        ),
      );
    },
  };
}
