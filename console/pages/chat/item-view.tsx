import CircleAlert from "icon:circle-alert";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { sayAnew } from "../../app/kept/outbox.ts";
import { Button } from "../../parts/button.tsx";
import { Words } from "../../parts/words.tsx";
import { notifyError } from "../../parts/toast.tsx";
import type { NoteItem } from "../../thread/items.ts";
import { AssistantMessage } from "./assistant-message.tsx";
import { useKeepOrUndo } from "./changes/keep-or-undo.tsx";
import { useItem, useOpenThread, useSnapshot } from "./thread-context.tsx";
import { UserMessage } from "./user-message.tsx";

/** One item of a conversation, by its kind. `next`: the item below it. */
export const ItemView = memo(function ItemView({ id, next }: { id: string; next?: string | undefined }) {
  const item = useItem(id);
  switch (item?.kind) {
    case "user":
      return <UserMessage item={item} />;
    case "assistant":
      return <AssistantMessage item={item} next={next} />;
    case "note":
      return <Note item={item} />;
    case "system":
      return (
        <p className="system-line">
          <Words text={item.text} />
        </p>
      );
    case "error":
      return <ErrorBar text={item.text} id={item.id} />;
    case undefined:
      return null;
  }
});

/** Why a run failed, and another try where nothing was said since. */
function ErrorBar({ id, text }: { id: string; text: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const question = useSnapshot(({ thread: { order, items, isBusy } }) =>
    isBusy || order.at(-1) !== id ? undefined : order.findLast((one) => items.get(one)?.kind === "user"),
  );
  const files = useKeepOrUndo();
  const again = async (message: string) => {
    try {
      if (!(await files.decide(message))) return;
      await thread.expectRun(sayAnew(thread.id, message));
    } catch (error) {
      notifyError(error);
    }
    await thread.sync();
  };
  return (
    <div className="error-bar" role="alert">
      <CircleAlert size={18} />
      <span>
        <Words text={text} />
      </span>
      {files.dialog}
      {question !== undefined && (
        <Button size="small" onClick={() => again(question)}>
          {t("app.retry")}
        </Button>
      )}
    </div>
  );
}

/** A grey line about what happened in between. */
function Note({ item: { note, values } }: { item: NoteItem }) {
  const { t } = useTranslation();
  const said = (name: string): string => String(values[name] ?? "");
  const reason = said("reason");
  const words = {
    retry: () => t("chat.note.retry", { reason }),
    degraded: () => t("chat.note.degraded", { reason }),
    loop: () => t("chat.note.loop", { reason }),
    context: () => t("chat.note.context", { reason }),
    searchFailed: () => t("chat.note.searchFailed", { reason }),
    search: () => t("chat.note.search", { query: said("query") }),
    model: () => t("chat.note.model", { model: said("model") }),
    compressed: () => t("chat.note.compressed", { count: Number(values["count"]) }),
  };
  return <p className="note-line">{visible(words[note]())}</p>;
}
