import { setTimeout as sleep } from "node:timers/promises";
import type { Run } from "@millrace/engine/storage/records";
import type { Performance } from "./performance.ts";

/** Milliseconds that a run waits at its end for the addresses, which were asked for at its beginning. */
const patience = 3000;

/**
 * Asks where a run may be judged (`feedback_keys`), beside the work. `undefined` where nobody traces, or the answer
 * does not come in time: a run does not fail for it.
 */
export async function startFeedback(
  { run_id, kwargs }: Run,
  { feedbackUrls, logger }: Pick<Performance, "feedbackUrls" | "logger">,
): Promise<Record<string, string> | undefined> {
  const { feedback_keys: keys = [] } = kwargs;
  if (feedbackUrls === undefined || keys.length === 0) return undefined;
  const late = sleep(patience, undefined, { ref: false });
  const urls = feedbackUrls(run_id, keys).catch((error: unknown) => {
    logger.warn({ err: error, run_id }, "feedback_not_asked");
    return undefined;
  });
  return await Promise.race([urls, late]);
}
