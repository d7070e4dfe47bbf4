import type { Run } from "../storage/records.ts";
import type { Page } from "../storage/storage.ts";
import { isOver } from "./status.ts";

const runsAtOnce = 20;

/**
 * The run that has asked what a session waits for: the newest one that has worked and is over. One that waits, for its turn
 * or its time, and one that was stopped before it began have asked nothing.
 */
export async function askingRun(
  runs: { list(sessionId: string, page: Page): Promise<Run[]> },
  sessionId: string,
): Promise<Run | undefined> {
  for (let offset = 0; ; offset += runsAtOnce) {
    const page = await runs.list(sessionId, { limit: runsAtOnce, offset });
    const asking = page.find(({ status, attempt }) => isOver(status) && attempt > 0);
    if (asking !== undefined || page.length < runsAtOnce) return asking;
  }
}
