import Download from "icon:download";
import MessageSquare from "icon:message-square";
import Shrink from "icon:shrink";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useThreadContext, type ThreadContext } from "../../api/context.ts";
import { saveAs } from "../../api/operations.ts";
import { useThreadNews } from "../../api/live/thread-news.ts";
import { threadAddress } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { isGone } from "../../thread/open-thread.ts";
import { work } from "../../text/inspector/work.ts";
import { count, longTime, percent } from "../../text/time.ts";
import { jsonText } from "../../text/json-text.ts";
import { CompressDialog } from "./compress-dialog.tsx";
import { SectionList } from "./section-list.tsx";
import { SentRequests } from "./sent-requests.tsx";
import { WindowBar } from "./window-bar.tsx";
import "../../style/later.css";

/** What the model of a thread was last sent: what fills its window, by section, and each request byte for byte. */
export function ContextPage({ threadId }: { threadId: string }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const context = useThreadContext(threadId);
  const [isShortening, setShortening] = useState(false);
  useThreadNews(threadId);
  usePageTitle(t("context.title"));
  const shown = isGone(context.error) ? undefined : context.data;
  return (
    <div className="graphs">
      <header className="page-head">
        <h1>{t("context.title")}</h1>
        <span className="space" />
        {shown !== undefined && shown.last_call !== null && (
          <>
            <IconButton label={t("context.compress")} onClick={() => setShortening(true)}>
              <Shrink size={16} />
            </IconButton>
            <IconButton label={t("context.save")} onClick={() => saveContext(threadId, shown)}>
              <Download size={16} />
            </IconButton>
          </>
        )}
        <Button size="small" onClick={() => navigate(threadAddress(threadId))}>
          <MessageSquare size={14} />
          {t("run.openChat")}
        </Button>
      </header>
      {context.isPending && <Loading lines={8} />}
      {context.error !== null && shown === undefined && (
        <Failed error={context.error} onRetry={() => void context.refetch()} />
      )}
      {isShortening && <CompressDialog threadId={threadId} onClose={() => setShortening(false)} />}
      {shown !== undefined && <Context threadId={threadId} context={shown} />}
    </div>
  );
}

/** Saves what is shown as JSON. */
function saveContext(threadId: string, context: ThreadContext): void {
  saveAs(new Blob([jsonText(context)]), `context-${threadId}.json`);
}

function Context({ threadId, context }: { threadId: string; context: ThreadContext }) {
  const { t } = useTranslation(work);
  const { last_call: last, usage, sections } = context;
  if (last === null) return <Empty title={t("context.none")} hint={t("context.noneHint")} />;
  return (
    <div className="usage-tab">
      <dl className="run-facts">
        <Fact name={t("context.model")} value={visible(last.model)} />
        <Fact name={t("context.node")} value={visible(last.call)} />
        <Fact name={t("context.asked")} value={longTime(last.asked_at)} />
        <Fact
          name={t("context.used")}
          value={`${count(usage.tokens)} / ${count(usage.limit)} (${percent(usage.tokens / usage.limit)})`}
        />
      </dl>
      <WindowBar context={context} />
      <SectionList sections={sections} limit={usage.limit} />
      <SentRequests key={last.run_id} threadId={threadId} runId={last.run_id} />
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
