import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import { plainText } from "../../markdown/plain-text.ts";
import { announce } from "../../parts/announcer.tsx";
import type { AssistantItem, ThreadState } from "../../thread/items.ts";
import { useOpenThread } from "./thread-context.tsx";

/** Maximum characters of an answer that a screen reader announces; the rest is read in the page. */
const maxLength = 5_000;

/** Reads an answer out once, when it is complete: while it streams, only that is announced. */
export function useAnnouncements(): void {
  const { t } = useTranslation();
  const thread = useOpenThread();
  useEffect(() => {
    let before = thread.snapshot();
    // What stands there from the beginning is read where it stands.
    let read: string | undefined;
    return thread.subscribe(() => {
      const last = before;
      before = thread.snapshot();
      const answer = lastAnswer(before.thread);
      if (last.isLoading || before.isLoading) read = before.thread.isBusy ? undefined : answer?.id;
      else if (last.thread.isBusy && !before.thread.isBusy && answer !== undefined && answer.id !== read) {
        read = answer.id;
        const words = answer.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
        const said = plainText(words.slice(0, maxLength));
        announce(answer.isPartial ? t("chat.saidStopped") : t("chat.said", { said }));
      }
    });
  }, [thread, t]);
}

/** What the assistant said last, if nothing else was said since. */
function lastAnswer({ order, items }: ThreadState): AssistantItem | undefined {
  const last = items.get(order.findLast((id) => items.get(id)?.kind !== "note") ?? "");
  return last?.kind === "assistant" ? last : undefined;
}
