import { plannerTools } from "./tools/index.ts";
import { defineToolkit } from "../../src/toolkits/toolkit.ts";
import { isWanted } from "./is-wanted.ts";
import { identityPlanner } from "./prompts/identity-planner.ts";
import { chatRoutes } from "./routes/chat.ts";
import { taskSearchRoutes } from "./routes/task-search.ts";
import { taskRoutes } from "./routes/tasks.ts";
import { openTasks, plannerStores } from "./tasks/session-tasks.ts";
import { plannerWorkflow } from "./tasks/view-context.ts";

/** Tasks with dates. */
export const planner = defineToolkit({
  name: "planner",
  title: { en: "Planner", zh: "任务规划" },
  description: {
    en: "Keeps tasks: makes, reads, changes, schedules and deletes them.",
    zh: "管理任务：创建、查看、修改、安排和删除。",
  },
  enabled: "default",
  tools: Object.values(plannerTools),
  isWanted,
  identity: { profile: "planner", template: identityPlanner },
  workflow: plannerWorkflow,
  stores: plannerStores,
  open: openTasks,
  routes: [chatRoutes, taskSearchRoutes, taskRoutes],
});
