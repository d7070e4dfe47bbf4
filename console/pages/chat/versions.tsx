import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import { useTranslation } from "react-i18next";
import { IconButton } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { chooseBranch, useMessageVersions } from "../../api/branches.ts";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** The versions of what was said here, one of which is shown; nothing where there is only one. */
export function Versions({ threadId, messageId }: { threadId: string; messageId: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy);
  const branches = useMessageVersions(threadId, messageId).data ?? [];
  const at = branches.findIndex(({ message_id }) => message_id === messageId);
  if (branches.length < 2 || at < 0) return null;
  const go = (place: number) => () => {
    const branch = branches[place];
    if (branch === undefined) return;
    chooseBranch(threadId, branch.checkpoint_id)
      .then(() => thread.sync())
      .catch(notifyError);
  };
  return (
    <div className="versions" role="group" aria-label={t("chat.version", { at: at + 1, of: branches.length })}>
      <IconButton label={t("chat.olderVersion")} disabled={at === 0 || isBusy} onClick={go(at - 1)}>
        <ChevronLeft size={14} />
      </IconButton>
      <span>
        {at + 1}/{branches.length}
      </span>
      <IconButton label={t("chat.newerVersion")} disabled={at === branches.length - 1 || isBusy} onClick={go(at + 1)}>
        <ChevronRight size={14} />
      </IconButton>
    </div>
  );
}
