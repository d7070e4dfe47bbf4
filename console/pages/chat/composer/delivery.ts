import { useEffect, useEffectEvent, useRef, useState } from "react";
import {
  forgetUnsent,
  keepUnsent,
  onUnanswered,
  sendMessage,
  takeOutMarked,
  unsentOf,
  type Unsent,
} from "../../../app/kept/outbox.ts";
import { notifyError } from "../../../parts/toast.tsx";
import type { OpenThread } from "../../../thread/open-thread.ts";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** How messages of a thread are sent. */
export interface Delivery {
  send: (unsent: Unsent) => Promise<void>;
  /** Sends what is kept, one after the other. */
  sendKept: () => Promise<void>;
}

/**
 * Returns what sends messages. One without an answer stays in the conversation, also over a reload, and is sent again when the
 * server can be reached; one that is refused is in the field again.
 */
export function useDelivery(threadId: string): Delivery {
  const thread = useOpenThread();
  const isThere = useSnapshot(({ connection, isLoading }) => connection === "open" && !isLoading);
  const [tries, setTries] = useState(0);
  useEffect(() => onUnanswered(() => setTries((count) => count + 1)), []);
  /** False: the server did not answer. */
  const deliver = async (unsent: Unsent, sent: ReturnType<typeof sendMessage>): Promise<boolean> => {
    try {
      const outcome = await sent;
      if (outcome === "sent") await thread.sync();
      if (outcome === "unanswered") show(thread, unsent, "failed");
      return outcome !== "unanswered";
    } catch (error) {
      thread.forget(unsent.said.id);
      notifyError(error);
      await thread.sync();
      return true;
    }
  };
  const sendAll = async (): Promise<void> => {
    // Once the server does not answer, later messages wait too, so that the order stays.
    let isReachable = await takeOutMarked(threadId, notifyError);
    // Another tab has sent it, or given it back.
    for (const item of thread.snapshot().thread.items.values()) {
      const isKept = unsentOf(threadId).some(({ said }) => said.id === item.id);
      if (item.kind === "user" && item.state === "failed" && !isKept) thread.forget(item.id);
    }
    for (const unsent of unsentOf(threadId)) {
      const { id } = unsent.said;
      const known = thread.snapshot().thread.items.get(id);
      if (known?.kind === "user" && known.state === "sent") forgetUnsent(threadId, id);
      else if (isReachable) isReachable = await deliver(unsent, sendMessage(threadId, unsent, true));
      else if (unsent.queued === undefined) show(thread, unsent, "failed");
    }
  };
  const last = useRef(Promise.resolve());
  const sendKept = async (): Promise<void> => {
    last.current = last.current.then(sendAll);
    await last.current;
  };
  const sendAgain = useEffectEvent(sendKept);
  useEffect(() => {
    if (isThere) void sendAgain();
  }, [isThere, threadId, tries]);
  const send = async (unsent: Unsent): Promise<void> => {
    const isFirst = unsentOf(threadId).length === 0;
    keepUnsent(threadId, [unsent]);
    if (!isFirst) show(thread, unsent, "sending");
    await (isFirst ? deliver(unsent, thread.expectRun(sendMessage(threadId, unsent))) : sendKept());
  };
  return { send, sendKept };
}

/** Shows a message that the server may not have. */
export function show(thread: OpenThread, { said }: Unsent, state: "sending" | "failed"): void {
  const attachments = said.attachments.map((name) => ({ name }));
  thread.show({ kind: "user", id: said.id, text: said.text, attachments, timestamp: said.at, state });
}
