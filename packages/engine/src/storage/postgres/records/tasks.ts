import { clusterDate } from "../../../concurrency/cluster-time.ts";
import { AppError } from "../../../errors/errors.ts";
import { changeOfTask } from "../../changes.ts";
import { Task } from "../../records.ts";
import type { TaskStore, TaskView } from "../../record-stores.ts";
import { json, readRow, readRows, TaskRow } from "../../rows.ts";
import type { PostgresDatabase, Statements } from "../database/database.ts";
import { isTaken } from "../database/errors.ts";

const columns = "task_id, owner, session_id, title, completed, area_id, scheduled_dates, created_at, updated_at";
/** A title is a JSON text: PostgreSQL takes no NUL and no half of a surrogate pair. */
const TitledRow = TaskRow.extend({ title: json(Task.shape.title) });

/** Whose tasks are seen: those of one owner, named or by a session, and maybe those without an owner. */
interface Scope {
  /** An expression with `$1`. */
  owner: "$1" | "(SELECT owner FROM sessions WHERE session_id = $1)";
  parameter: string | null;
  orphans: boolean;
}

/** The condition of a view, and what `$2` is in it; an empty one takes every task. */
function ofView({ day, staging, area_id }: TaskView): { condition: string; wanted: string[] } {
  if (day !== undefined) return { condition: "scheduled_dates::jsonb ? $2", wanted: [day] };
  if (staging === true) return { condition: "scheduled_dates = '[]'", wanted: [] };
  if (area_id === undefined) return { condition: "true", wanted: [] };
  return { condition: "area_id = $2", wanted: [area_id] };
}

function ofScope(scope: Scope | undefined): string {
  if (scope === undefined) return "$1::text IS NULL";
  const own = `owner IS NOT DISTINCT FROM ${scope.owner}::text`;
  return scope.orphans ? `(${own} OR owner IS NULL)` : own;
}

/** The planner's tasks in PostgreSQL, all or those of an owner. Creating an existing id throws `conflict`. */
export function createTaskStore(database: PostgresDatabase, scope?: Scope): TaskStore {
  const parameter = scope?.parameter ?? null;
  const one = async (statements: Statements, taskId: string, lock = ""): Promise<Task | undefined> => {
    const sql = `SELECT ${columns} FROM tasks WHERE ${ofScope(scope)} AND task_id = $2 ${lock}`;
    const [row] = await statements.read(sql, [parameter, taskId]);
    return readRow(TitledRow, "tasks", row);
  };
  const change = (taskId: string, patch: (task: Task) => Partial<Task>): Promise<Task | undefined> =>
    database.transaction(async (statements) => {
      const task = await one(statements, taskId, "FOR UPDATE");
      if (task === undefined) return undefined;
      const next: Task = { ...task, updated_at: clusterDate(), ...patch(task) };
      await statements.change(
        `UPDATE tasks SET title = $2, completed = $3, area_id = $4, scheduled_dates = $5, updated_at = $6
         WHERE task_id = $1`,
        [taskId, ...valuesOf(next), next.updated_at],
      );
      statements.recordChanges(changeOfTask("changed", next));
      return next;
    });
  return {
    keepsIds: true,
    ownedBy: (name, orphans = false) => createTaskStore(database, { owner: "$1", parameter: name, orphans }),
    ofSession: (sessionId) =>
      createTaskStore(database, {
        owner: "(SELECT owner FROM sessions WHERE session_id = $1)",
        parameter: sessionId,
        orphans: false,
      }),
    async create(task) {
      const owner = scope === undefined ? "$1::text" : scope.owner;
      const sql = `INSERT INTO tasks (${columns}) VALUES ($2, ${owner}, $9, $3, $4, $5, $6, $7, $8) RETURNING ${columns}`;
      const values = [task.task_id, ...valuesOf(task), task.created_at, task.updated_at, task.session_id];
      try {
        const [row] = await database.rows(sql, [scope === undefined ? task.owner : parameter, ...values]);
        const created = readRow(TitledRow, "tasks", row) ?? task;
        database.recordChanges(changeOfTask("created", created));
        return created;
      } catch (error) {
        if (isTaken(error)) {
          throw new AppError("conflict", `A task "${task.task_id}" already exists.`);
        }
        throw error;
      }
    },
    get: (taskId) => one(database, taskId),
    update: (taskId, patch) => change(taskId, () => patch),
    schedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: [...new Set([...days, day])].toSorted() })),
    unschedule: (taskId, day) =>
      change(taskId, ({ scheduled_dates: days }) => ({ scheduled_dates: days.filter((other) => other !== day) })),
    delete: (taskId) => remove(database, scope, taskId),
    async find(view) {
      const { condition, wanted } = ofView(view);
      const sql = `SELECT ${columns} FROM tasks WHERE ${ofScope(scope)} AND ${condition} ORDER BY created_at, id`;
      return readRows(TitledRow, "tasks", await database.read(sql, [parameter, ...wanted]));
    },
  };
}

async function remove(database: PostgresDatabase, scope: Scope | undefined, taskId: string): Promise<boolean> {
  const sql = `DELETE FROM tasks WHERE ${ofScope(scope)} AND task_id = $2 RETURNING ${columns}`;
  const [row] = await database.rows(sql, [scope?.parameter ?? null, taskId]);
  const task = readRow(TitledRow, "tasks", row);
  if (task !== undefined) database.recordChanges(changeOfTask("deleted", task));
  return task !== undefined;
}

function valuesOf({ title, completed, area_id, scheduled_dates }: Task) {
  return [JSON.stringify(title), Number(completed), area_id, JSON.stringify(scheduled_dates)] as const;
}
