import Trash from "icon:trash-2";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { deleteMessage } from "../../api/threads.ts";
import { IconButton } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** Takes a message out of the conversation, with what its calls gave. */
export function DeleteMessage({ id }: { id: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [isAsked, setAsked] = useState(false);
  // A run writes messages, and an answer to a question belongs to one.
  const mayChange = useSnapshot(({ thread: { isBusy }, approvals }) => !isBusy && approvals.length === 0);
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
