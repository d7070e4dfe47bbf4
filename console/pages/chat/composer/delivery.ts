import { useEffect, useEffectEvent, useState } from "react";
import { forgetUnsent, sendMessage, unsentOf, type Unsent } from "../../../app/kept/outbox.ts";
import { notifyError } from "../../../parts/toast.tsx";
import type { OpenThread } from "../../../thread/open-thread.ts";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** Milliseconds after which a message without an answer is sent again. */
const pause = 3_000;

/**
 * Returns what sends a message. One without an answer stays in the conversation, also over a reload, and is sent again when the
 * server can be reached; one that is refused is in the field again.
 */
export function useDelivery(threadId: string): (unsent: Unsent) => Promise<void> {
  const thread = useOpenThread();
  const isThere = useSnapshot(({ connection, isLoading }) => connection === "open" && !isLoading);
  const [tries, setTries] = useState(0);
  const deliver = async (unsent: Unsent, sent: ReturnType<typeof sendMessage>) => {
    const { id } = unsent.said;
    try {
      const outcome = await sent;
      if (outcome === "sent") await thread.sync();
      if (outcome !== "unanswered") return;
      show(thread, unsent, "failed");
      setTimeout(() => setTries((count) => count + 1), pause);
    } catch (error) {
      thread.forget(id);
      notifyError(error);
      await thread.sync();
    }
  };
  const sendAgain = useEffectEvent(async (): Promise<void> => {
    for (const unsent of unsentOf(threadId)) {
      const known = thread.snapshot().thread.items.get(unsent.said.id);
      if (known?.kind === "user" && known.state === "sent") forgetUnsent(threadId, unsent.said.id);
      else await deliver(unsent, sendMessage(threadId, unsent));
    }
  });
  useEffect(() => {
    if (isThere) void sendAgain();
  }, [isThere, threadId, tries]);
  return (unsent) => deliver(unsent, thread.expectRun(sendMessage(threadId, unsent)));
}

/** Shows a message that the server may not have. */
export function show(thread: OpenThread, { said }: Unsent, state: "sending" | "failed"): void {
  const attachments = said.attachments.map((name) => ({ name }));
  thread.show({ kind: "user", id: said.id, text: said.text, attachments, timestamp: said.at, state });
}
