import CircleAlert from "icon:circle-alert";
import Workflow from "icon:workflow";
import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { graphAddress } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { useGraphProblems } from "../../api/graphs.ts";
import { useAssistants } from "../../api/threads.ts";
import { visible } from "../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { work } from "../../text/inspector/work.ts";
import "../../style/later.css";

/** Every graph of the server with the assistants that were made of it, and why some are not served. */
export function GraphsPage() {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const assistants = useAssistants();
  const problems = useGraphProblems().data ?? [];
  usePageTitle(t("graph.title"));
  useEffect(() => {
    // What one most likely opens next is there when it is asked for; where it cannot be loaded now, opening it says so.
    import("./graph-page.tsx").catch(() => undefined);
  }, []);
  const graphs = Map.groupBy(assistants.data ?? [], ({ graph_id }) => graph_id);
  const link = (address: string) => ({
    href: `/console${address}`,
    onClick: (event: React.MouseEvent) => {
      if (event.metaKey || event.ctrlKey) return;
      event.preventDefault();
      navigate(address);
    },
  });
  return (
    <div className="graphs">
      <header className="page-head">
        <h1>{t("graph.title")}</h1>
      </header>
      {assistants.isPending && <Loading lines={6} />}
      {assistants.error !== null && assistants.data === undefined && (
        <Failed error={assistants.error} onRetry={() => void assistants.refetch()} />
      )}
      {assistants.data !== undefined && graphs.size === 0 && problems.length === 0 && (
        <Empty icon={<Workflow />} title={t("graph.none")} hint={t("graph.noneHint")} />
      )}
      <ul className="graph-cards">
        {[...graphs]
          .toSorted(([one], [other]) => one.localeCompare(other))
          .map(([graph, of]) => {
            const own = of.find(({ metadata }) => metadata?.["created_by"] === "system");
            const made = of.filter((assistant) => assistant !== own);
            return (
              <li key={graph} className="graph-card">
                <a className="graph-card-link" {...link(graphAddress(graph))}>
                  <Workflow size={18} />
                  <span>{visible(graph)}</span>
                </a>
                {own?.description && <p className="hint">{visible(own.description)}</p>}
                {made.length > 0 && (
                  <ul className="graph-made" aria-label={t("graph.assistants")}>
                    {made.map(({ assistant_id, name }) => (
                      <li key={assistant_id}>
                        <a {...link(graphAddress(assistant_id))}>{visible(name ?? assistant_id)}</a>
                      </li>
                    ))}
                  </ul>
                )}
              </li>
            );
          })}
        {problems.map(({ graph_id: graph, module, message }) => (
          <li key={graph} className="graph-card">
            <a className="graph-card-link" {...link(graphAddress(graph))}>
              <CircleAlert size={18} />
              <span>{visible(graph)}</span>
            </a>
            <p className="hint">{t("graph.notServed", { module: visible(module) })}</p>
            <p className="problem">{visible(message)}</p>
          </li>
        ))}
      </ul>
    </div>
  );
}
