import Pencil from "icon:pencil";
import X from "icon:x";
import Zap from "icon:zap";
import { useTranslation } from "react-i18next";
import { cancelRun } from "../../../api/runs/runs.ts";
import { visible } from "../../../markdown/links.ts";
import { IconButton } from "../../../parts/button.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import type { UserItem } from "../../../thread/items.ts";
import { Attachments } from "../attachment.tsx";
import { useOpenThread, useSnapshot } from "../thread-context.tsx";

/** What was said while a run works. The server keeps it, so it is there after a reload too. */
export function Queue({ threadId, onEdit }: { threadId: string; onEdit: (item: UserItem) => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const queue = useSnapshot((snapshot) => snapshot.queue);
  if (queue.length === 0) return null;
  const remove = async ({ runId }: UserItem) => {
    if (runId !== undefined) await cancelRun(threadId, runId).catch(notifyError);
    await thread.sync();
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
              <IconButton label={t("chat.sendNow")} onClick={() => void thread.stop().catch(notifyError)}>
                <Zap size={15} />
              </IconButton>
            )}
            <IconButton label={t("chat.editQueued")} onClick={() => void remove(item).then(() => onEdit(item))}>
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
