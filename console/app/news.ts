import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import type { Approval } from "../api/shapes.ts";
import { visible } from "../markdown/links.ts";
import { announce } from "../parts/announcer.tsx";

let ownTitle = "Millrace";
let waitingCount = 0;

function show(): void {
  document.title = waitingCount > 0 ? `(${waitingCount}) ${ownTitle}` : ownTitle;
}

/** Says in the tab's title how much waits for the person. */
export function useNews(waiting: number): void {
  useEffect(() => {
    waitingCount = waiting;
    show();
  }, [waiting]);
}

/** Tells readers of the screen what begins to wait for the person, in whichever thread. */
export function useSpokenQuestions(approvals: readonly Approval[] | undefined): void {
  const { t } = useTranslation();
  const known = useRef<ReadonlySet<string>>(undefined);
  useEffect(() => {
    if (approvals === undefined) return;
    const before = known.current;
    known.current = new Set(approvals.map(({ id }) => id));
    const added = approvals.find(({ id }) => before !== undefined && !before.has(id));
    if (added === undefined) return;
    const question = visible((added.question ?? added.tool ?? "").slice(0, 300));
    announce(`${t("approval.waitingOne")}: ${question}`, "assertive");
  }, [approvals, t]);
}

/** Names the tab after what it shows. */
export function usePageTitle(title: string | undefined): void {
  useEffect(() => {
    ownTitle = title === undefined || title === "" ? "Millrace" : `${title} · Millrace`;
    show();
    return () => {
      ownTitle = "Millrace";
      show();
    };
  }, [title]);
}
