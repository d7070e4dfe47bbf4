import { useTranslation } from "react-i18next";
import { useAllRuns } from "../../api/runs/all-runs.ts";
import { visible } from "../../markdown/links.ts";
import type { RunFilter } from "../../run/run-filter.ts";
import { shortMoment } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

/** A run: the newest ones can be chosen, and the one that the address names. */
export function ChooseRun({
  label,
  filter = newest,
  current,
  onChoose,
}: {
  label: string;
  /** Which runs can be chosen; all without one. */
  filter?: RunFilter;
  current: { threadId: string; runId: string } | undefined;
  onChoose: (run: { threadId: string; runId: string }) => void;
}) {
  const { t } = useTranslation(work);
  const runs = useAllRuns(filter).data?.pages.flatMap((page) => page.runs) ?? [];
  const isListed = runs.some(({ run_id }) => run_id === current?.runId);
  return (
    <select
      className="filter"
      aria-label={label}
      value={current?.runId ?? ""}
      data-set={current !== undefined || undefined}
      onChange={({ target }) => {
        const run = runs.find(({ run_id }) => run_id === target.value);
        if (run !== undefined) onChoose({ threadId: run.thread_id, runId: run.run_id });
      }}
    >
      {current === undefined && <option value="">{label}</option>}
      {current !== undefined && !isListed && <option value={current.runId}>…{current.runId.slice(-8)}</option>}
      {runs.map(({ run_id, graph_id, queued_at, status }) => (
        <option key={run_id} value={run_id}>
          {`${shortMoment(Date.parse(queued_at))} · ${visible(graph_id)} · ${t(`status.${status}`)} · …${run_id.slice(-4)}`}
        </option>
      ))}
    </select>
  );
}

const newest: RunFilter = {};
