import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useSearchParams } from "wouter";
import { useAssistants } from "../../api/threads.ts";
import { ThreadStatus, type ThreadInfo } from "../../api/shapes.ts";
import { Button } from "../../parts/button.tsx";

/** The names of the choices in the address; those of a page beside the list are others. */
const names = { status: "chat-state", graph: "chat-graph", archived: "chat-archived" } as const;
type Name = keyof typeof names;

/** Which threads are listed, as the address has it, and how that is changed. */
export interface ThreadFilter {
  /** What the server is asked for. */
  wanted: { status?: ThreadInfo["status"]; graph_id?: string; archived?: boolean };
  isSet: boolean;
  /** The filter as a part of an address. */
  search: string;
  change: (changes: Partial<Record<Name, string>>) => void;
}

/** The filter of the list of threads. What cannot be read asks for nothing. */
export function useThreadFilter(): ThreadFilter {
  const [params, setParams] = useSearchParams();
  return useMemo(() => {
    const status = ThreadStatus.options.find((one) => one === params.get(names.status));
    const graph = params.get(names.graph) ?? "";
    const archived = ["also", "only"].find((one) => one === params.get(names.archived));
    const chosen = [
      [names.status, status],
      [names.graph, graph],
      [names.archived, archived],
    ].flatMap(([name = "", value = ""]): [string, string][] => (value === "" ? [] : [[name, value]]));
    return {
      wanted: {
        ...(status !== undefined && { status }),
        ...(graph !== "" && { graph_id: graph }),
        ...(archived !== "also" && { archived: archived === "only" }),
      },
      isSet: chosen.length > 0,
      search: new URLSearchParams(chosen).toString(),
      change: (changes) =>
        setParams(
          (before) => {
            const next = new URLSearchParams(before);
            for (const name of ["status", "graph", "archived"] as const) {
              const value = changes[name];
              if (value === "") next.delete(names[name]);
              else if (value !== undefined) next.set(names[name], value);
            }
            return next;
          },
          { replace: true },
        ),
    };
  }, [params, setParams]);
}

/** The choices above the list. */
export function ThreadFilters({ filter: { wanted, isSet, change } }: { filter: ThreadFilter }) {
  const { t } = useTranslation();
  const { status, graph_id: graph, archived } = wanted;
  const graphs = new Set((useAssistants().data ?? []).map(({ graph_id }) => graph_id));
  if (graph !== undefined) graphs.add(graph);
  const statuses = {
    busy: t("threads.statusBusy"),
    interrupted: t("threads.statusInterrupted"),
    error: t("threads.statusError"),
    idle: t("threads.statusIdle"),
  };
  return (
    <div className="list-tools filters" role="group" aria-label={t("threads.filters")}>
      <select
        className="filter"
        aria-label={t("threads.status")}
        value={status ?? ""}
        data-set={status !== undefined || undefined}
        onChange={({ target }) => change({ status: target.value })}
      >
        <option value="">{t("threads.anyStatus")}</option>
        {Object.entries(statuses).map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
      </select>
      <select
        className="filter"
        aria-label={t("threads.graph")}
        value={graph ?? ""}
        data-set={graph !== undefined || undefined}
        onChange={({ target }) => change({ graph: target.value })}
      >
        <option value="">{t("threads.anyGraph")}</option>
        {[...graphs].toSorted().map((one) => (
          <option key={one} value={one}>
            {one}
          </option>
        ))}
      </select>
      <select
        className="filter"
        aria-label={t("threads.archived")}
        value={archived === undefined ? "also" : archived ? "only" : ""}
        data-set={archived !== false || undefined}
        onChange={({ target }) => change({ archived: target.value })}
      >
        <option value="">{t("threads.notArchived")}</option>
        <option value="also">{t("threads.alsoArchived")}</option>
        <option value="only">{t("threads.onlyArchived")}</option>
      </select>
      {isSet && (
        <Button size="small" kind="quiet" onClick={() => change({ status: "", graph: "", archived: "" })}>
          {t("threads.clear")}
        </Button>
      )}
    </div>
  );
}
