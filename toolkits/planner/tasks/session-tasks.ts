import type { TaskStore } from "@millrace/engine/storage/record-stores";
import type { Toolkit, ToolkitServer } from "../../../src/toolkits/toolkit.ts";
import type { ToolContext } from "../../../src/tools/runtime/tool.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";
import { plannerTasks } from "./task-service.ts";

/** The tasks of the server; in a session those of its owner. */
export const tasksKey = new ServiceKey<TaskStore>("tasks");

/** The tasks that a tool works on. */
export function tasksOf({ toolkitServices }: Pick<ToolContext, "toolkitServices">): TaskStore {
  return toolkitServices.get(tasksKey);
}

/** Another service's tasks in the place of the server's, where the configuration names one. */
export const plannerStores: NonNullable<Toolkit["stores"]> = ({ planner }, { tasks }) => ({
  tasks: plannerTasks(planner, tasks),
});

/** Gives each session the tasks of its owner. */
export function openTasks({ services, storage: { tasks } }: ToolkitServer): undefined {
  services.add(tasksKey, tasks, ({ sessionId, owner }) =>
    owner === undefined ? tasks.ofSession(sessionId) : tasks.ownedBy(owner),
  );
}
