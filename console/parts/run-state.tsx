import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunStatus } from "../run/run-filter.ts";
import { preciseDuration } from "../text/time.ts";
import { work } from "../text/inspector/work.ts";

/** The state of a run, in a word and a colour; `waits`: it is over, and its thread waits for a person. */
export function RunState({ status, waits = false }: { status: RunStatus; waits?: boolean }) {
  const { t } = useTranslation(work);
  const shown = waits && status === "success" ? "waiting" : status;
  return (
    <span className="run-state" data-status={shown}>
      <i className="run-dot" />
      {t(`status.${shown}`)}
    </span>
  );
}

/** How long something takes or took; it counts on as long as there is no end. */
export function Took({ from, to }: { from: string | null; to: string | null }) {
  const [now, setNow] = useState(() => Date.now());
  const isOpen = from !== null && to === null;
  useEffect(() => {
    if (!isOpen) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isOpen]);
  if (from === null) return <>–</>;
  const end = to === null ? Math.max(now, Date.parse(from)) : Date.parse(to);
  return <>{preciseDuration(end - Date.parse(from))}</>;
}
