import { useTranslation } from "react-i18next";
import { markMessage, useSeenMessages, type SeenMessage } from "../../api/context.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading, NextPage } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";
import { count } from "../../text/time.ts";
import { useRoleName } from "./section-name.ts";

/** The messages of a thread, with what the last request had of each and a choice of what the next one has. */
export function MessageList({ threadId }: { threadId: string }) {
  const { t } = useTranslation(work);
  const query = useSeenMessages(threadId);
  const { data, error, refetch } = query;
  if (error !== null && data === undefined) return <Failed error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={4} />;
  const messages = data.pages.toReversed().flatMap((page) => page.messages);
  return (
    <>
      <p className="hint">{t("context.messagesHint")}</p>
      <NextPage query={query} label={t("context.earlier")} />
      <ul aria-label={t("context.messages")}>
        {messages.map((message, index) => (
          <Message key={message.id ?? index} threadId={threadId} message={message} />
        ))}
      </ul>
    </>
  );
}

function Message({ threadId, message }: { threadId: string; message: SeenMessage }) {
  const { t } = useTranslation(work);
  const roleOf = useRoleName();
  const { id, role, preview, tokens, importance, model_view, in_request } = message;
  const text = visible(preview) || roleOf(role);
  const marks: Record<string, string> = {
    shortened: t("context.shortened"),
    summary: t("context.summarised"),
    left_out: t("context.leftOut"),
    hidden: t("context.hidden"),
    later: t("context.later"),
  };
  const levels = { HIGH: t("context.high"), MEDIUM: t("context.medium"), LOW: t("context.low") };
  return (
    <li className="setting">
      <span>{text}</span>
      <small>
        {roleOf(role)} · {t("context.tokens", { count: tokens, tokens: count(tokens) })} · {levels[importance]}
        {marks[in_request] !== undefined && <b> · {marks[in_request]}</b>}
      </small>
      <select
        className="filter"
        aria-label={`${t("context.view")}: ${text.slice(0, 60)}`}
        disabled={id === null}
        value={model_view ?? ""}
        onChange={({ target: { value } }) => {
          const wanted = value === "keep" || value === "hide" ? value : null;
          void markMessage(threadId, id ?? "", wanted).catch(notifyError);
        }}
      >
        <option value="">{t("context.automatic")}</option>
        <option value="keep">{t("context.keepAlways")}</option>
        <option value="hide">{t("context.hide")}</option>
      </select>
    </li>
  );
}
