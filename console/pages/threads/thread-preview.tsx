import { useTranslation } from "react-i18next";
import { useLastMessages } from "../../api/threads.ts";
import type { ThreadInfo } from "../../api/shapes.ts";
import { visible } from "../../markdown/links.ts";
import { plainText } from "../../markdown/plain-text.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { work } from "../../text/inspector/work.ts";
import { longTime } from "../../text/time.ts";
import "../../style/later.css";

/** Characters of a message that are shown. */
const shown = 600;

/** How a thread began and what was said last, read when it is asked for, with what can be done with the whole of it. */
export function ThreadPreview({
  thread,
  onClose,
  onOpen,
  onExport,
  onDelete,
}: {
  thread: ThreadInfo;
  onClose: () => void;
  onOpen: () => void;
  onExport: () => void;
  onDelete: () => void;
}) {
  const { t } = useTranslation(work);
  const { t: shell } = useTranslation();
  const { data, error, refetch } = useLastMessages(thread.thread_id);
  const { name, preview, updated_at, message_count } = thread;
  const names: Record<string, string> = { user: t("context.user"), assistant: t("context.assistant") };
  const thenClose = (act: () => void) => () => {
    onClose();
    act();
  };
  return (
    <Dialog title={visible(name === "" ? preview : name)} onClose={onClose}>
      <div className="dialog-body schema-form">
        <p className="hint">
          {t("preview.count", { count: message_count })} · {longTime(updated_at)}
        </p>
        {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
        {error === null && data === undefined && <Loading lines={6} />}
        {data?.length === 0 && <p className="hint">{t("preview.nothing")}</p>}
        {data !== undefined && data.length > 0 && (
          <dl className="last-calls">
            {data.length < message_count && (
              <div className="last-call">
                <dt className="hint">{t("preview.began")}</dt>
                <dd>{visible(preview)}</dd>
              </div>
            )}
            {data.map(({ id, role, content }, index) => (
              <div key={id ?? index} className="last-call">
                <dt className="hint">{names[role] ?? t("context.assistant")}</dt>
                <dd>{visible(role === "user" ? shortOf(content) : plainText(shortOf(content)))}</dd>
              </div>
            ))}
          </dl>
        )}
        <div className="row-end">
          <Button size="small" kind="danger" onClick={thenClose(onDelete)}>
            {shell("threads.delete")}
          </Button>
          <Button size="small" onClick={thenClose(onExport)}>
            {shell("threads.exportMarkdown")}
          </Button>
          <Button size="small" kind="primary" onClick={thenClose(onOpen)}>
            {t("preview.open")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

function shortOf(content: string): string {
  return content.length > shown ? `${content.slice(0, shown)}…` : content;
}
