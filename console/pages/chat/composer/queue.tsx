import ArrowUp from "icon:arrow-up";
import Pencil from "icon:pencil";
import X from "icon:x";
import Zap from "icon:zap";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { keepUnsent } from "../../../app/kept/outbox.ts";
import { visible } from "../../../markdown/links.ts";
import { IconButton } from "../../../parts/button.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import type { UserItem } from "../../../thread/items.ts";
import { editQueued, unsentOfQueued } from "../../../thread/queued.ts";
import { Attachments } from "../attachment.tsx";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** What was said while a run works. The server keeps it, so it is there after a reload too. */
export function Queue({ threadId, sendKept }: { threadId: string; sendKept: () => Promise<void> }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const queue = useSnapshot((snapshot) => snapshot.queue);
  const [isMoving, setMoving] = useState(false);
  if (queue.length === 0) return null;
  const change = async (work: Promise<void>) => {
    await work.catch(notifyError);
    await thread.sync();
  };
  /** Under the id that it has: to press once more is the same. */
  const remove = async (item: UserItem) => {
    const unsent = unsentOfQueued(item);
    keepUnsent(threadId, [{ ...unsent, said: { ...unsent.said, id: item.id }, isRemoved: true }]);
    await change(sendKept());
  };
  const moveUp = async (index: number) => {
    setMoving(true);
    // The server answers in the order in which they came: both, and those behind them, are taken out and sent again.
    const [before, moved, ...behind] = queue.slice(index - 1).map((item) => unsentOfQueued(item));
    keepUnsent(
      threadId,
      [moved, before, ...behind].filter((one) => one !== undefined),
    );
    await change(sendKept());
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
            {item.waits !== undefined && (
              <IconButton label={t("chat.editQueued")} onClick={() => void change(editQueued(threadId, item))}>
                <Pencil size={15} />
              </IconButton>
            )}
            <IconButton label={t("chat.removeQueued")} onClick={() => void remove(item)}>
              <X size={15} />
            </IconButton>
          </li>
        ))}
      </ol>
    </section>
  );
}
