import type { TaskStore } from "@millrace/engine/storage/record-stores";
import type { Toolkit, ToolkitServer } from "../../../src/toolkits/toolkit.ts";
import type { ToolContext } from "../../../src/tools/runtime/tool.ts";
import { ServiceKey } from "../../../src/tools/runtime/toolkit-services.ts";
import { plannerTasks } from "./task-service.ts";

/** The server's tasks; in a session those of its owner. */
export const tasksKey = new ServiceKey<TaskStore>("tasks");

/** The tasks for a tool. */
export function tasksOf({ toolkitServices }: Pick<ToolContext, "toolkitServices">): TaskStore {
  return toolkitServices.get(tasksKey);
}

/** The configured external task service, which replaces the server's store. */
export const plannerStores: NonNullable<Toolkit["stores"]> = ({ planner }, { tasks }) => ({
  tasks: plannerTasks(planner, tasks),
});

/** Gives each session its owner's tasks. */
export function openTasks({ services, storage: { tasks } }: ToolkitServer): undefined {
  services.add(tasksKey, tasks, ({ sessionId, owner }) =>
    owner === undefined ? tasks.ofSession(sessionId) : tasks.ownedBy(owner),
  );
}
