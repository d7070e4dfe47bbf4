import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { framesOf, type GraphDrawing, type Pause } from "../../run/graph-layout.ts";
import { work } from "../../text/inspector/work.ts";

/** At which nodes a run is to stop. */
export type Stops = ReadonlyMap<string, Pause>;

/** The run goes through. */
export const noStops: Stops = new Map();

/** The nodes at which the server can let a run stop: the graph's own, not those of its subgraphs. */
export function stoppable(drawing: GraphDrawing | undefined): string[] {
  const own = (drawing?.nodes ?? []).flatMap(({ id, type }) => (type === "runnable" ? [framesOf(id)[0] ?? id] : []));
  return [...new Set(own)];
}

/** With a stop at one side of a node, or without it where there was one. */
export function withStop(stops: Stops, node: string, side: "before" | "after"): Stops {
  const other = side === "before" ? "after" : "before";
  const had = stops.get(node);
  const has = new Set<Pause>(had === "both" ? ["before", "after"] : had === undefined ? [] : [had]);
  if (!has.delete(side)) has.add(side);
  const next = new Map(stops);
  if (has.size === 0) next.delete(node);
  else next.set(node, has.size === 2 ? "both" : has.has(side) ? side : other);
  return next;
}

/** What a run is started with. */
export function interruptsOf(stops: Stops): { interrupt_before?: string[]; interrupt_after?: string[] } {
  const at = (side: "before" | "after"): string[] =>
    [...stops].flatMap(([node, pause]) => (pause === side || pause === "both" ? [node] : []));
  const [before, after] = [at("before"), at("after")];
  return {
    ...(before.length > 0 && { interrupt_before: before }),
    ...(after.length > 0 && { interrupt_after: after }),
  };
}

/** The nodes before and after which a run can be let stop. */
export function StopChoice({
  nodes,
  stops,
  onStops,
}: {
  nodes: readonly string[];
  stops: Stops;
  onStops: (stops: Stops) => void;
}) {
  const { t } = useTranslation(work);
  const title = stops.size === 0 ? t("graph.stops") : t("graph.stopCount", { count: stops.size });
  return (
    <Disclosure title={title}>
      <ul>
        {nodes.map((node) => (
          <li key={node} className="row-between">
            <span className="hint">{visible(node)}</span>
            <span className="segments" role="group" aria-label={visible(node)}>
              {(["before", "after"] as const).map((side) => (
                <button
                  key={side}
                  type="button"
                  aria-pressed={stops.get(node) === side || stops.get(node) === "both"}
                  onClick={() => onStops(withStop(stops, node, side))}
                >
                  {t(`graph.${side}`)}
                </button>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </Disclosure>
  );
}
