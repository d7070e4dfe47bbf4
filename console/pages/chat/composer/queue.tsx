import ArrowUp from "icon:arrow-up";
import Pencil from "icon:pencil";
import X from "icon:x";
import Zap from "icon:zap";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { forgetUnsent, isUnanswered, keepUnsent, unsentOf, type Unsent } from "../../../app/kept/outbox.ts";
import { takeOut } from "../../../api/runs/runs.ts";
import { visible } from "../../../markdown/links.ts";
import { IconButton } from "../../../parts/button.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import type { UserItem } from "../../../thread/items.ts";
import { Attachments } from "../attachment.tsx";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

interface QueueProps {
  threadId: string;
  onEdit: (item: UserItem) => void;
  /** Sends a message; see `useDelivery`. */
  deliver: (unsent: Unsent) => Promise<void>;
}

/** What was said while a run works. The server keeps it, so it is there after a reload too. */
export function Queue({ threadId, onEdit, deliver }: QueueProps) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const queue = useSnapshot((snapshot) => snapshot.queue);
  const [isMoving, setMoving] = useState(false);
  if (queue.length === 0) return null;
  const remove = async ({ runId }: UserItem): Promise<boolean> => {
    if (runId === undefined) return false;
    try {
      await takeOut(threadId, runId);
      return true;
    } catch (error) {
      notifyError(error);
      return false;
    } finally {
      await thread.sync();
    }
  };
  const edit = async (item: UserItem) => {
    if (await remove(item)) onEdit(item);
  };
  const moveUp = async (index: number) => {
    setMoving(true);
    await answerEarlier(threadId, queue, index, { deliver, onEdit });
    await thread.sync();
    setMoving(false);
  };
  return (
    <section className="queue" aria-label={t("chat.queuedTitle", { count: queue.length })}>
      <p className="queue-title">{t("chat.queuedTitle", { count: queue.length })}</p>
      <ol>
        {queue.map((item, index) => (
          <li key={item.id}>
            <span>
              {visible(item.text.slice(0, 300))}
              <Attachments paths={item.attachments.map(({ name }) => name)} />
            </span>
            {index === 0 && (
              <IconButton label={t("chat.sendNow")} onClick={() => void thread.stop("running").catch(notifyError)}>
                <Zap size={15} />
              </IconButton>
            )}
            {index > 0 && queue.slice(index - 1).every(({ waits }) => waits !== undefined) && (
              <IconButton label={t("chat.moveUp")} disabled={isMoving} onClick={() => void moveUp(index)}>
                <ArrowUp size={15} />
              </IconButton>
            )}
            <IconButton label={t("chat.editQueued")} onClick={() => void edit(item)}>
              <Pencil size={15} />
            </IconButton>
            <IconButton label={t("chat.removeQueued")} onClick={() => void remove(item)}>
              <X size={15} />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  );
}

/**
 * Lets a message be answered before the one in front of it: the server answers in the order in which they came, so both, and
 * those behind them, are taken out of its queue and sent again. They are kept here first, so that none is lost on the way. One
 * that has begun meanwhile is left alone.
 */
async function answerEarlier(
  threadId: string,
  queue: readonly UserItem[],
  index: number,
  { deliver, onEdit }: Pick<QueueProps, "deliver" | "onEdit">,
): Promise<void> {
  const [before, moved, ...behind] = queue.slice(index - 1).flatMap((item) => unsentAgain(item));
  if (before === undefined || moved === undefined) return;
  const again = [moved, before, ...behind];
  keepUnsent(
    threadId,
    again.map(({ unsent }) => unsent),
  );
  // The last one first: none of them begins while those in front of it are taken out.
  for (const { runId, unsent, item } of [before, moved, ...behind].toReversed()) {
    try {
      await takeOut(threadId, runId);
    } catch (error) {
      forgetUnsent(threadId, unsent.said.id);
      // It may be out of the queue or not, which the user can see.
      if (isUnanswered(error)) onEdit(item);
      notifyError(error);
    }
  }
  for (const unsent of unsentOf(threadId)) await deliver(unsent);
}

/** A waiting message as one that is to be sent, under a name of its own. */
function unsentAgain(item: UserItem): { runId: string; unsent: Unsent; item: UserItem }[] {
  const { runId, text, attachments, waits } = item;
  if (runId === undefined || waits === undefined) return [];
  const said = {
    id: crypto.randomUUID(),
    text,
    attachments: attachments.map(({ name }) => name),
    at: new Date().toISOString(),
  };
  return [{ runId, unsent: { said, ...waits }, item }];
}
