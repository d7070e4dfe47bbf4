import type { RunEnd } from "../../runs/options.ts";
import type { Run } from "../../storage/records.ts";
import { toWireRun } from "./runs.ts";
import { toWireJson } from "../answers/wire.ts";

/** What is told of a run's end: the Run, its last values, how it failed, and when it worked. */
export function webhookBody(run: Run, { values, started_at, ended_at }: RunEnd): string {
  return toWireJson({
    ...toWireRun(run),
    run_started_at: started_at,
    run_ended_at: ended_at,
    values,
    ...(run.error && { error: run.error.message }),
  });
}
