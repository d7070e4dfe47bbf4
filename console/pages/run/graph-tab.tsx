import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useDrawing } from "../../api/graphs.ts";
import { visible } from "../../markdown/links.ts";
import { GraphView } from "../../parts/graph/graph-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { framesOf } from "../../run/graph-layout.ts";
import { nodeStates, type Span } from "../../run/spans.ts";
import { preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

/** The graph of a run with what it has done in it, and the same as a list. */
export function GraphTab({
  assistantId,
  spans,
  selected,
  onSelect,
}: {
  assistantId: string;
  spans: ReadonlyMap<string, Span>;
  selected: string | undefined;
  onSelect: (span: string) => void;
}) {
  const { t } = useTranslation(work);
  const drawing = useDrawing(assistantId);
  const states = useMemo(() => nodeStates(spans.values()), [spans]);
  if (drawing.isPending) return <Loading lines={5} />;
  if (drawing.error !== null) {
    return (
      <Failed
        error={drawing.error}
        onRetry={() => void drawing.refetch()}
        gone={{ title: t("graph.noDrawing"), hint: "" }}
      />
    );
  }
  // Of what was not reached, the graph's own nodes: what lies within them ("plan:call_model") is in the drawing.
  const drawn = drawing.data.nodes.flatMap(({ type, id }) => (type === "runnable" ? [framesOf(id)[0] ?? id] : []));
  // What was reached comes first; also what the drawing does not know, such as agents that the run makes.
  const names = [...new Set([...states.keys(), ...drawn])];
  const chosen = [...states].find(([, { span }]) => span === selected)?.[0];
  const select = (node: string) => {
    const span = states.get(node)?.span;
    if (span !== undefined) onSelect(span);
  };
  return (
    <div className="graph-tab">
      <div className="graph-tab-drawing">
        <GraphView
          drawing={drawing.data}
          label={t("graph.drawing", { name: t("run.title") })}
          states={states}
          selected={chosen}
          onSelect={select}
        />
      </div>
      <nav className="graph-tab-list" aria-label={t("run.nodes")}>
        <h2>{t("run.nodes")}</h2>
        <ul>
          {names.map((name) => {
            const state = states.get(name);
            return (
              <li key={name}>
                <button
                  type="button"
                  className="node-row"
                  disabled={state === undefined}
                  aria-current={chosen === name || undefined}
                  onClick={() => select(name)}
                >
                  <i className="node-dot" data-status={state?.status} />
                  <span>{visible(name)}</span>
                  <small>
                    {state === undefined
                      ? t("run.notReached")
                      : `${t("run.times", { count: state.times })} · ${preciseDuration(state.milliseconds)}`}
                  </small>
                </button>
              </li>
            );
          })}
        </ul>
      </nav>
    </div>
  );
}
