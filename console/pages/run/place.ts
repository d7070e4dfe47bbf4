import { useSearchParams, useLocation } from "wouter";
import { useLocationProperty } from "wouter/use-browser-location";
import { decoded, runAddress } from "../../app/addresses.ts";

/** The views of a run. */
export const views = ["graph", "time", "state", "events", "usage"] as const;
/** One of them. */
export type View = (typeof views)[number];

/** Where in a run one is, as the address has it. */
export interface Place {
  view: View;
  span: string | undefined;
  checkpoint: string | undefined;
}

/** What the address names, and how one goes elsewhere in the run. */
export function usePlace(threadId: string, runId: string): [Place, (changes: Partial<Place>) => void] {
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  const hash = useLocationProperty(() => location.hash);
  const place: Place = {
    view: views.find((one) => one === params.get("view")) ?? "graph",
    span: hash.length > 1 ? decoded(hash.slice(1)) : undefined,
    checkpoint: params.get("checkpoint") ?? undefined,
  };
  const go = (changes: Partial<Place>): void => {
    const { view, span, checkpoint } = { ...place, ...changes };
    const search = new URLSearchParams({ view, ...(checkpoint !== undefined && { checkpoint }) });
    const end = span === undefined ? "" : `#${encodeURIComponent(span)}`;
    // Another view is another place to come back to; another span or checkpoint is not.
    navigate(`${runAddress(threadId, runId)}?${search.toString()}${end}`, { replace: view === place.view });
  };
  return [place, go];
}
