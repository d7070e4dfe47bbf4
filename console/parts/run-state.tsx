import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { RunStatus } from "../run/run-filter.ts";
import { preciseDuration } from "../text/time.ts";
import { work } from "../text/inspector/work.ts";

/** The state of a run, in a word and a colour. */
export function RunState({ status }: { status: RunStatus }) {
  const { t } = useTranslation(work);
  return (
    <span className="run-state" data-status={status}>
      <i className="run-dot" />
      {t(`status.${status}`)}
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
