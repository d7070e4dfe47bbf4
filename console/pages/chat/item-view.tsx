import CircleAlert from "icon:circle-alert";
import { memo } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import type { NoteItem } from "../../thread/items.ts";
import { AssistantMessage } from "./assistant-message.tsx";
import { useItem } from "./thread-context.tsx";
import { UserMessage } from "./user-message.tsx";

/** One item of a conversation, by its kind. */
export const ItemView = memo(function ItemView({ id }: { id: string }) {
  const item = useItem(id);
  switch (item?.kind) {
    case "user":
      return <UserMessage item={item} />;
    case "assistant":
      return <AssistantMessage item={item} />;
    case "note":
      return <Note item={item} />;
    case "system":
      return <p className="system-line">{visible(item.text)}</p>;
    case "error":
      return (
        <div className="error-bar" role="alert">
          <CircleAlert size={18} />
          <span>{visible(item.text)}</span>
        </div>
      );
    case undefined:
      return null;
  }
});

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
