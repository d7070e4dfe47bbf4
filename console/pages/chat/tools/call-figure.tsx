import { useMemo } from "react";
import { loadable } from "../../../parts/loadable.ts";
import type { Call } from "../../../thread/items.ts";
import { madeBy } from "../../../thread/made-by-call.ts";
import { useOpenThread } from "../thread-context.tsx";

const figures = loadable(() => import("./call-figures.ts"));

/** What a call has made, drawn as on the page of it: the curve of a simulation, a task of the planner. */
export function CallFigure({ call }: { call: Call }) {
  const thread = useOpenThread();
  const made = useMemo(() => madeBy(thread.snapshot().thread, call), [thread, call]);
  const views = figures.useModule(made !== undefined);
  if (made === undefined || views === undefined) return null;
  if (made.kind === "task") return <views.CalledTask id={made.id} />;
  return <views.SimulationFigure circuit={made.circuit} threadId={thread.id} callId={made.callId} />;
}
