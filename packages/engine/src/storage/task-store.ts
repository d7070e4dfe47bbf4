import type { Task } from "./records.ts";

/** Which tasks are wanted: one of a day, of no date at all, or of an area. Nothing: all. */
export interface TaskView {
  day?: string;
  staging?: boolean;
  area_id?: string;
}

/** The planner's tasks. A task that is not there is `undefined`. What waits for others is ended by the signal. */
export interface TaskStore {
  create(task: Task, signal?: AbortSignal): Promise<Task>;
  get(taskId: string, signal?: AbortSignal): Promise<Task | undefined>;
  update(
    taskId: string,
    patch: Partial<Pick<Task, "title" | "completed" | "area_id">>,
    signal?: AbortSignal,
  ): Promise<Task | undefined>;
  /** Plans it for one more day, in one step; a day that it has already changes nothing. */
  schedule(taskId: string, day: string, signal?: AbortSignal): Promise<Task | undefined>;
  /** The reverse. */
  unschedule(taskId: string, day: string, signal?: AbortSignal): Promise<Task | undefined>;
  delete(taskId: string, signal?: AbortSignal): Promise<boolean>;
  /** Oldest first. */
  find(view: TaskView, signal?: AbortSignal): Promise<Task[]>;
  /**
   * The same tasks as far as they are of this owner, with `orphans` also those of nobody: others are not there, and
   * what is created is the owner's.
   */
  ownedBy(owner: string | null, orphans?: boolean): TaskStore;
  /** The same for whoever owns the session; where no owners are known, all. */
  ofSession(sessionId: string): TaskStore;
  /** Whether a created task keeps its id, so that one that was made can be found again; else the id is given elsewhere. */
  keepsIds: boolean;
}
