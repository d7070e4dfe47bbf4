import type { Config } from "@millrace/engine/config/config";
import type { RunsOptions } from "./options.ts";

/** What bounds the runs of a server, as its configuration says it. `auth`: the rules of a user, where there are any. */
export function runLimits(
  config: Config,
  auth: object | undefined,
): Pick<
  RunsOptions,
  "maxConcurrent" | "queueLimit" | "ownerQueueLimit" | "crashBudget" | "runTimeout" | "turnPatience"
> {
  const { maxConcurrentRuns, queueLimit, crashBudget, runSeconds, conversations } = config;
  // One key or user must not keep the others out: half of the queue is for them.
  const isShared = auth !== undefined || new Set(config.apiKeys.map(({ owner }) => owner)).size > 1;
  const ownerQueueLimit = isShared ? Math.ceil(queueLimit / 2) : undefined;
  const runTimeout = runSeconds === undefined ? undefined : runSeconds * 1000;
  const turnPatience = conversations.lockSeconds * 1000;
  return { maxConcurrent: maxConcurrentRuns, queueLimit, ownerQueueLimit, crashBudget, runTimeout, turnPatience };
}
