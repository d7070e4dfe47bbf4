import type { Run } from "@millrace/engine/storage/records";
import type { RunOutcome } from "@millrace/engine/storage/storage";
import { readNewest } from "./newest-state.ts";
import { isOwnPath } from "./own-path.ts";
import type { Performance } from "./performance.ts";

/** How a run ended, for whoever is told of it. Dates are ISO-8601. */
export interface ToldEnd {
  values: Record<string, unknown> | null;
  started_at: string;
  ended_at: string;
}

/**
 * What is to be told of a run's end, when somebody asked for it; it is written with that end, so that no crash comes between. Never throws: without its values, a run has ended all the same.
 */
export async function webhookOf(
  run: Run,
  outcome: RunOutcome,
  values: Record<string, unknown> | undefined,
  { storage, webhookBody, logger }: Pick<Performance, "storage" | "webhookBody" | "logger">,
): Promise<RunOutcome["webhook"]> {
  const { webhook: url } = run.kwargs;
  if (url === undefined || webhookBody === undefined) return undefined;
  const newest = values === undefined ? await newestOf(run, { storage, logger }) : undefined;
  const ended_at = new Date().toISOString();
  const ended: Run = { ...run, status: outcome.status, error: outcome.error ?? null, updated_at: ended_at };
  // While a run works, its row says when it began.
  const end = { values: values ?? newest ?? null, started_at: run.updated_at, ended_at };
  const place = { url, host: hostOf(url) };
  try {
    return { ...place, body: webhookBody(ended, end) };
  } catch (error) {
    // A graph may keep what cannot be written as JSON.
    logger.warn({ err: error, run_id: run.run_id }, "webhook_without_values");
    return { ...place, body: webhookBody(ended, { ...end, values: null }) };
  }
}

/** The receiver; empty for this server. */
function hostOf(url: string): string {
  return !isOwnPath(url) && URL.canParse(url) ? new URL(url).host : "";
}

async function newestOf(
  run: Run,
  { storage, logger }: Pick<Performance, "storage" | "logger">,
): Promise<Record<string, unknown> | undefined> {
  try {
    return (await readNewest(storage, run.session_id))?.values;
  } catch (error) {
    logger.warn({ err: error, run_id: run.run_id }, "session_state_unreadable");
    return undefined;
  }
}
