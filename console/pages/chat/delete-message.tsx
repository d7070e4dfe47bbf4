import Trash from "icon:trash-2";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deleteMessage } from "../../api/threads.ts";
import { IconButton } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** A run writes messages, and an answer to a question belongs to one: neither is to lose its message. */
function useMayDelete(): boolean {
  return useSnapshot(({ thread: { isBusy }, approvals }) => !isBusy && approvals.length === 0);
}

/** The way out for calls whose answer was deleted or never came; of all others it stands below the answer. */
export function DeleteCalls({ id }: { id: string }) {
  const { t } = useTranslation();
  return useMayDelete() ? (
    <div className="message-actions" role="group" aria-label={t("chat.messageActions")}>
      <DeleteMessage id={id} />
    </div>
  ) : null;
}

/** Takes a message out of the conversation, with what its calls gave. */
export function DeleteMessage({ id }: { id: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [isAsked, setAsked] = useState(false);
  const mayChange = useMayDelete();
  return (
    <>
      <IconButton label={t("chat.deleteMessage")} onClick={() => setAsked(true)} disabled={!mayChange}>
        <Trash size={15} />
      </IconButton>
      {isAsked && (
        <Confirm
          title={t("chat.deleteMessage")}
          hint={t("chat.deleteMessageHint")}
          action={t("chat.deleteMessage")}
          run={async () => {
            await deleteMessage(thread.id, id);
            await thread.sync();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </>
  );
}
