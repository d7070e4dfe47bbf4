import Download from "icon:download";
import FileText from "icon:file-text";
import MessageSquare from "icon:message-square";
import RefreshCw from "icon:refresh-cw";
import Shrink from "icon:shrink";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { useThreadContext, type ThreadContext } from "../../api/context.ts";
import { saveAs } from "../../api/operations.ts";
import { compress } from "../../api/runs/runs.ts";
import { useThreadNews } from "../../api/live/thread-news.ts";
import { threadAddress } from "../../app/addresses.ts";
import { usePageTitle } from "../../app/news.ts";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { isGone } from "../../thread/open-thread.ts";
import { work } from "../../text/inspector/work.ts";
import { count, longTime, percent } from "../../text/time.ts";
import { jsonText } from "../../text/json-text.ts";
import { contextMarkdown } from "./as-text.ts";
import { BudgetPart } from "./budget-part.tsx";
import { CompressDialog } from "./compress-dialog.tsx";
import { Fact } from "./fact.tsx";
import { MessageList } from "./message-list.tsx";
import { useRefresh } from "./refresh.ts";
import { SectionList } from "./section-list.tsx";
import { useSectionName } from "./section-name.ts";
import { SentRequests } from "./sent-requests.tsx";
import { WindowBar } from "./window-bar.tsx";
import "../../style/later.css";

/** On a phone the buttons stand below the title. */
const wraps = { flexWrap: "wrap" } as const;

/** What the model of a thread was last sent: what fills its window, by section, and each request byte for byte. */
export function ContextPage({ threadId }: { threadId: string }) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const context = useThreadContext(threadId);
  const [isShortening, setShortening] = useState(false);
  useThreadNews(threadId);
  usePageTitle(t("context.title"));
  const refresh = useRefresh(threadId);
  const nameOf = useSectionName();
  const tooSlow = context.error?.name === "TimeoutError" ? new Error(t("context.tooSlow")) : undefined;
  const shown = isGone(context.error) ? undefined : context.data;
  return (
    <div className="graphs">
      <header className="page-head" style={wraps}>
        <h1>{t("context.title")}</h1>
        <span className="space" />
        <IconButton label={t("context.refresh")} onClick={refresh}>
          <RefreshCw size={16} />
        </IconButton>
        {shown !== undefined && shown.last_call !== null && (
          <>
            <IconButton label={t("context.compress")} onClick={() => setShortening(true)}>
              <Shrink size={16} />
            </IconButton>
            <IconButton label={t("context.save")} onClick={() => save(jsonText(shown), `context-${threadId}.json`)}>
              <Download size={16} />
            </IconButton>
            <IconButton
              label={t("context.saveMarkdown")}
              onClick={() => save(contextMarkdown(shown, t("context.title"), nameOf), `context-${threadId}.md`)}
            >
              <FileText size={16} />
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
        <Failed error={tooSlow ?? context.error} onRetry={() => void context.refetch()} />
      )}
      {shown !== undefined && tooSlow !== undefined && (
        <p className="hint" role="alert">
          {tooSlow.message}
        </p>
      )}
      {isShortening && (
        <CompressDialog
          threadId={threadId}
          run={(how) => compress(threadId, how)}
          onClose={() => setShortening(false)}
        />
      )}
      {shown !== undefined && <Context threadId={threadId} context={shown} readAt={context.dataUpdatedAt} />}
    </div>
  );
}

/** Saves what is shown as a file. */
function save(text: string, name: string): void {
  saveAs(new Blob([text]), name);
}

function Context({ threadId, context, readAt }: { threadId: string; context: ThreadContext; readAt: number }) {
  const { t } = useTranslation(work);
  const { last_call: last, usage, sections } = context;
  const [wanted, setWanted] = useState<{ name: string; turn: number }>();
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
        <Fact name={t("context.readAt")} value={longTime(new Date(readAt).toISOString())} />
      </dl>
      <ul className="channels">
        <li>
          <Disclosure title={t("context.content")} isOpenAtFirst>
            <div className="schema-form">
              <WindowBar context={context} onOpen={(name) => setWanted({ name, turn: (wanted?.turn ?? 0) + 1 })} />
              <SectionList
                sections={sections}
                limit={usage.limit}
                call={{ threadId, runId: last.run_id, node: last.call }}
                wanted={wanted}
              />
            </div>
          </Disclosure>
        </li>
        <li>
          <Disclosure title={t("context.messages")}>
            <MessageList threadId={threadId} />
          </Disclosure>
        </li>
        <li>
          <Disclosure title={t("context.budget")}>
            <BudgetPart threadId={threadId} context={context} />
          </Disclosure>
        </li>
      </ul>
      <SentRequests key={threadId} threadId={threadId} lastRunId={last.run_id} />
    </div>
  );
}
