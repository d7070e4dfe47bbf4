import type { ActiveRun } from "./active-run.ts";
import { RunConfig } from "./execute.ts";

/**
 * Stops an attempt of a run with the reason `timeout` when it has walked for too long: the shorter of what the run says
 * (`config.timeout`, as LangChain names it) and what the server allows, in milliseconds. Waiting in the queue or for a
 * person is no part of an attempt. Whoever begins it ends it with the returned function.
 */
export function limitTime({ run, stop }: ActiveRun, ofServer = Infinity): () => void {
  const limit = Math.min(RunConfig.parse(run.kwargs.config).timeout ?? Infinity, ofServer);
  if (limit === Infinity) return () => undefined;
  const timer = setTimeout(() => stop.request("timeout"), limit);
  return () => clearTimeout(timer);
}
