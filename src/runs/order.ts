import type { Run } from "@millrace/engine/storage/records";
import type { ActiveRun } from "./active-run.ts";

/** Whether a session works on `first` before `second`: in the order they came; ids are made in that order too. */
export function comesBefore(first: Run, second: Run): boolean {
  if (first.created_at !== second.created_at) return first.created_at < second.created_at;
  return first.run_id < second.run_id;
}

/** The runs of the same session that wait behind `run`. */
export function waitingBehind(active: ReadonlyMap<string, ActiveRun>, run: Run): ActiveRun[] {
  return [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.walking && comesBefore(run, other.run),
  );
}

/** How many runs of its session come before one that waits; `undefined` for one that has begun. */
export function positionOf(active: ReadonlyMap<string, ActiveRun>, run: Run): number | undefined {
  const own = active.get(run.run_id);
  if (own === undefined || own.walking || own.ended) return undefined;
  const others = [...active.values()].filter(
    (other) => other.run.session_id === run.session_id && !other.ended && other !== own,
  );
  return others.filter((other) => other.walking || comesBefore(other.run, own.run)).length;
}
