import { setTimeout as sleep } from "node:timers/promises";
import type { Run } from "../../storage/records.ts";
import type { RunnerDeps } from "../options.ts";

/** Milliseconds that a run waits at its end for the addresses of its feedback, which were asked for at its beginning. */
const feedbackPatience = 3000;

/**
 * Asks for the addresses for feedback (`feedback_keys`), in parallel to the work. `undefined` without tracing, or when the
 * answer does not come in time: the run does not fail because of it.
 */
export async function feedbackOf(
  { run_id, kwargs }: Run,
  { feedbackUrls, logger }: Pick<RunnerDeps, "feedbackUrls" | "logger">,
): Promise<Record<string, string> | undefined> {
  const { feedback_keys: keys = [] } = kwargs;
  if (feedbackUrls === undefined || keys.length === 0) return undefined;
  const late = sleep(feedbackPatience, undefined, { ref: false });
  const urls = feedbackUrls(run_id, keys).catch((error: unknown) => {
    logger.warn({ err: error, run_id }, "feedback_not_asked");
    return undefined;
  });
  return await Promise.race([urls, late]);
}
