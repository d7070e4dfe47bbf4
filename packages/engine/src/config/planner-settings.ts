import { AppError } from "../errors/errors.ts";

/** Another service that keeps the planner's tasks. The key is a secret: never log, trace or send this object. */
export interface PlannerSettings {
  /** What stands before `/api/tasks`, without a slash at the end. */
  baseUrl: string;
  apiKey: string | undefined;
}

/** The service that the environment names, if any. Throws `config` for a key without an address. */
export function plannerSettings(values: {
  MILLRACE_PLANNER_URL?: string | undefined;
  MILLRACE_PLANNER_KEY: string | undefined;
}): PlannerSettings | undefined {
  const { MILLRACE_PLANNER_URL: address, MILLRACE_PLANNER_KEY: apiKey } = values;
  if (address !== undefined) return { baseUrl: address.replace(/\/+$/u, ""), apiKey };
  if (apiKey === undefined) return undefined;
  throw new AppError("config", "MILLRACE_PLANNER_KEY is set, and MILLRACE_PLANNER_URL is not.", {
    suggestion: "Set MILLRACE_PLANNER_URL to the address of the service that keeps the tasks, or remove the key.",
  });
}
