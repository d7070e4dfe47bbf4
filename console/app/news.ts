import { useEffect } from "react";

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
