import { plannerTools } from "../../src/tools/index.ts";
import type { Toolkit } from "../../src/toolkits/toolkit.ts";

/** Tasks with dates. */
export const planner: Toolkit = {
  name: "planner",
  title: { en: "Planner", zh: "任务规划" },
  description: {
    en: "Keeps tasks: makes, reads, changes, schedules and deletes them.",
    zh: "管理任务：创建、查看、修改、安排和删除。",
  },
  tools: Object.values(plannerTools),
  templates: [],
  identity: "planner",
  collectors: [],
  guardrails: [],
  enabled: "default",
};
