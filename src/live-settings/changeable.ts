import type { Config } from "@millrace/engine/config/config";

/**
 * The variables that can be changed while the server runs, and what of the configuration each is a part of: what
 * nothing holds on to for longer than a run. Who may call, the folders, the toolkits and the inner addresses whose
 * pages may be opened are the environment's alone.
 */
export const changeable: Readonly<Record<string, keyof Config>> = {
  MILLRACE_TOOL_RATE: "toolRate",
  MILLRACE_MODEL_RATE: "modelRate",
  MILLRACE_MODEL_REQUESTS: "modelRequests",
  MILLRACE_CRITICAL_FILES: "criticalFiles",
  MILLRACE_CONFIRM_TASKS: "confirmTasks",
  MILLRACE_LOG_LEVEL: "logLevel",
  MILLRACE_SEARCH: "web",
  MILLRACE_WEB_FETCH: "web",
  GOOGLE_SEARCH_CX: "web",
  GOOGLE_SEARCH_URL: "web",
  BING_SEARCH_URL: "web",
  SEARXNG_URL: "web",
};
