import { AppError } from "../../../errors/errors.ts";
import { changeOfTask } from "../../changes.ts";
import type { Task } from "../../records.ts";
import type { TaskStore, TaskView } from "../../record-stores.ts";
import { type Database, isConstraint } from "../database/database.ts";
import { readRows, TaskRow } from "../../rows.ts";
import type { GroupCommit } from "../database/durable.ts";

const ofSession = "(SELECT owner FROM sessions WHERE session_id = ?)";
const columns = "task_id, owner, session_id, title, completed, area_id, scheduled_dates, created_at, updated_at";

/** Whose tasks are seen: those of one owner, named or by a session, and maybe those without an owner. */
interface Scope {
  /** An expression with one parameter. */
  owner: "?" | typeof ofSession;
  parameter: string | null;
  orphans: boolean;
}

interface Condition {
  sql: string;
  parameters: (string | null)[];
}

function toRow(task: Task) {
  return { ...task, completed: Number(task.completed), scheduled_dates: JSON.stringify(task.scheduled_dates) };
}

/** The condition of a view; an empty one takes every task. */
function ofView({ day, staging, area_id }: TaskView): Condition[] {
  if (day !== undefined) return [{ sql: "? IN (SELECT value FROM json_each(scheduled_dates))", parameters: [day] }];
  if (staging === true) return [{ sql: "scheduled_dates = '[]'", parameters: [] }];
  return area_id === undefined ? [] : [{ sql: "area_id = ?", parameters: [area_id] }];
}

function ofScope(scope: Scope | undefined): Condition[] {
  if (scope === undefined) return [];
  const { owner, parameter, orphans } = scope;
  return [{ sql: orphans ? `(owner IS ${owner} OR owner IS NULL)` : `owner IS ${owner}`, parameters: [parameter] }];
}

/** The planner's tasks in SQLite, all or those of an owner. Creating an existing id throws `conflict`. */
export function createTaskStore(database: Database, commits: GroupCommit, scope?: Scope): TaskStore {
  const one = (taskId: string): Task | undefined =>
    select(database, [{ sql: "task_id = ?", parameters: [taskId] }, ...ofScope(scope)])[0];
  const change = (taskId: string, patch: (task: Task) => Partial<Task>): Promise<Task | undefined> =>
    commits.transaction(() => {
      const task = one(taskId);
      if (task === undefined) return undefined;
      const next: Task = { ...task, updated_at: new Date().toISOString(), ...patch(task) };
      database
        .prepare(
          `UPDATE tasks SET title = @title, completed = @completed, area_id = @area_id,
           scheduled_dates = @scheduled_dates, updated_at = @updated_at WHERE task_id = @task_id`,
        )
        .run(toRow(next));
      database.recordChange?.(changeOfTask("changed", next));
      return next;
    });
  return {
    keepsIds: true,
    ownedBy: (parameter, orphans = false) => createTaskStore(database, commits, { owner: "?", parameter, orphans }),
    ofSession: (parameter) => createTaskStore(database, commits, { owner: ofSession, parameter, orphans: false }),
    create: (task) =>
      commits.transaction(() => {
        insert(database, task, scope);
        const created = one(task.task_id) ?? task;
        database.recordChange?.(changeOfTask("created", created));
        return created;
      }),
    get: async (taskId) => database.read(() => one(taskId)),
    update: (taskId, patch) => change(taskId, () => patch),
    schedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: [...new Set([...days, day])].toSorted() })),
    unschedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: days.filter((other) => other !== day) })),
    delete: (taskId) =>
      commits.transaction(() => {
        const task = one(taskId);
        if (task === undefined) return false;
        database.recordChange?.(changeOfTask("deleted", task));
        return database.prepare("DELETE FROM tasks WHERE task_id = ?").run(taskId).changes > 0;
      }),
    find: async (view) => database.read(() => select(database, [...ofView(view), ...ofScope(scope)])),
  };
}

/** Oldest first. */
function select(database: Database, conditions: readonly Condition[]): Task[] {
  const where = conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
  const statement = database.prepare(`SELECT ${columns} FROM tasks ${where} ORDER BY created_at, id`);
  return readRows(TaskRow, "tasks", statement.all(...conditions.flatMap(({ parameters }) => parameters)));
}

function insert(database: Database, task: Task, scope: Scope | undefined): void {
  const owner = scope === undefined ? "@owner" : scope.owner.replace("?", "@scope");
  try {
    database
      .prepare(
        `INSERT INTO tasks (${columns})
         VALUES (@task_id, ${owner}, @session_id, @title, @completed, @area_id, @scheduled_dates, @created_at, @updated_at)`,
      )
      .run({ ...toRow(task), scope: scope?.parameter ?? null });
  } catch (error) {
    if (isConstraint(error)) throw new AppError("conflict", `A task "${task.task_id}" already exists.`);
    throw error;
  }
}
