import GitCompare from "icon:git-compare";
import { useTranslation } from "react-i18next";
import { useLocation, useSearchParams } from "wouter";
import { useStartedRun, type StartedRun } from "../../api/runs/all-runs.ts";
import { useThreadNews } from "../../api/live/thread-news.ts";
import { useTrace } from "../../api/runs/trace.ts";
import { compareAddress } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { runNamed } from "../../run/compare.ts";
import { work } from "../../text/inspector/work.ts";
import { ChooseRun } from "./choose-run.tsx";
import { ComparedFacts, type Side } from "./compared-facts.tsx";
import { ComparedPlaces } from "./compared-places.tsx";
import { ComparedStates } from "./compared-states.tsx";
import "../../style/later.css";

type Named = NonNullable<ReturnType<typeof runNamed>>;

/** Two runs side by side: what became of them, what they used, what they did, and the states that they left. */
export function ComparePage() {
  const { t } = useTranslation(work);
  const [params] = useSearchParams();
  const [, navigate] = useLocation();
  usePageTitle(t("compare.title"));
  const [left, right] = [runNamed(params.get("left")), runNamed(params.get("right"))];
  const choose = (side: "left" | "right", run: Named) =>
    navigate(compareAddress(side === "left" ? run : left, side === "right" ? run : right));
  return (
    <div className="shaping compare">
      <header className="page-head">
        <h1>{t("compare.title")}</h1>
      </header>
      <div className="shaping-view statistics">
        <div className="filters" role="group" aria-label={t("compare.title")}>
          <ChooseRun label={t("compare.left")} current={left} onChoose={(run) => choose("left", run)} />
          <ChooseRun label={t("compare.right")} current={right} onChoose={(run) => choose("right", run)} />
        </div>
        {left === undefined || right === undefined ? (
          <Empty icon={<GitCompare />} title={t("compare.none")} hint={t("compare.noneHint")} />
        ) : (
          <TwoRuns key={`${left.runId} ${right.runId}`} left={left} right={right} />
        )}
      </div>
    </div>
  );
}

function useRunAt({ threadId, runId }: Named) {
  useThreadNews(threadId);
  return useStartedRun(threadId, runId);
}

function TwoRuns({ left, right }: { left: Named; right: Named }) {
  const { t } = useTranslation(work);
  const [one, other] = [useRunAt(left), useRunAt(right)];
  const failed = [one, other].find(({ error }) => error !== null);
  if (failed !== undefined) {
    const gone = { title: t("compare.gone"), hint: t("run.goneHint") };
    return <Failed error={failed.error} onRetry={() => void failed.refetch()} gone={gone} />;
  }
  if (one.data === undefined || other.data === undefined) return <Loading lines={8} />;
  return <Comparison left={one.data} right={other.data} />;
}

function useSide(run: StartedRun): Side {
  return {
    run,
    trace: useTrace(run.thread_id, run.run_id),
    isOver: run.status !== "running" && run.status !== "pending",
  };
}

function Comparison(runs: { left: StartedRun; right: StartedRun }) {
  const { t } = useTranslation(work);
  const [left, right] = [useSide(runs.left), useSide(runs.right)];
  const isLess = [left, right].some(({ trace }) => !trace.isLogComplete);
  return (
    <>
      <ComparedFacts left={left} right={right} />
      {isLess && <p className="run-note">{t("run.logGone")}</p>}
      <ComparedPlaces left={left} right={right} />
      <ComparedStates left={left.run} right={right.run} />
    </>
  );
}
