import Activity from "icon:activity";
import ChevronRight from "icon:chevron-right";
import GitFork from "icon:git-fork";
import RefreshCw from "icon:refresh-cw";
import Play from "icon:play";
import { memo, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { choose, takeUp } from "../../api/runs/runs.ts";
import { sayAnew } from "../../app/kept/outbox.ts";
import { forkThread } from "../../api/threads.ts";
import { CopyButton } from "../../markdown/code.tsx";
import { targetOf, visible } from "../../markdown/links.ts";
import { Markdown } from "../../markdown/markdown.tsx";
import { Button, IconButton } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { duration } from "../../text/time.ts";
import type { AssistantItem, Block, Source, Suggested } from "../../thread/items.ts";
import type { OpenThread } from "../../thread/open-thread.ts";
import { DeleteCalls, DeleteMessage } from "./delete-message.tsx";
import { useHasRested } from "./scrolling.ts";
import { ToolGroup } from "./tools/tool-group.tsx";
import { useKeepOrUndo } from "./changes/keep-or-undo.tsx";
import { MessageOperations } from "./changes/operation-card.tsx";
import { useOpenThread, useSnapshot } from "./thread-context.tsx";

/** What an assistant said: its thoughts, its words, its calls, in their order. */
export const AssistantMessage = memo(function AssistantMessage({
  item,
  next,
}: {
  item: AssistantItem;
  next: string | undefined;
}) {
  const { t } = useTranslation();
  const hasRested = useHasRested();
  const { isPast } = useOpenThread();
  // What is said between calls is one answer: what can be done with it stands below its end.
  const isFollowed = useSnapshot(({ thread: { items } }) => items.get(next ?? "")?.kind === "assistant");
  const words = item.blocks.flatMap((block) => (block.kind === "text" ? [block.text] : [])).join("\n\n");
  return (
    <article
      className="message assistant-message"
      data-followed={isFollowed || undefined}
      aria-label={t("chat.assistant")}
      aria-busy={item.isStreaming}
    >
      {parts(item.blocks).map((part) => (
        <BlockView key={part.key} part={part} isStreaming={item.isStreaming} />
      ))}
      {item.parent === undefined && <MessageOperations messageId={item.id} />}
      {item.isPartial && <Interrupted item={item} />}
      {item.sources.length > 0 && <Sources sources={item.sources} />}
      {item.suggestions !== undefined && <Suggestions suggested={item.suggestions} />}
      {!item.isStreaming &&
        !isFollowed &&
        !isPast &&
        item.parent === undefined &&
        (words === "" ? (
          <DeleteCalls id={item.id} />
        ) : hasRested ? (
          <AssistantActions item={item} words={words} />
        ) : (
          <div className="message-actions" />
        ))}
    </article>
  );
});

type Part =
  | { key: number; kind: "calls"; calls: string[] }
  | { key: number; kind: "block"; block: Exclude<Block, { kind: "call" }> };

/** The blocks, where calls that follow one another are one part. */
function parts(blocks: readonly Block[]): Part[] {
  const found: Part[] = [];
  for (const [key, block] of blocks.entries()) {
    const last = found.at(-1);
    if (block.kind !== "call") {
      if (block.text !== "" || block.isOpen) found.push({ key, kind: "block", block });
    } else if (last?.kind === "calls") last.calls.push(block.callId);
    else found.push({ key, kind: "calls", calls: [block.callId] });
  }
  return found;
}

function BlockView({ part, isStreaming }: { part: Part; isStreaming: boolean }): ReactNode {
  if (part.kind === "calls") return <ToolGroup calls={part.calls} />;
  const { block } = part;
  if (block.kind === "reasoning") return <Reasoning block={block} />;
  return <Markdown text={block.text} isOpen={block.isOpen && isStreaming} />;
}

/** What the assistant thought: open while it comes, a line afterwards. */
function Reasoning({ block }: { block: Extract<Block, { kind: "reasoning" }> }) {
  const { t } = useTranslation();
  const [chosen, setChosen] = useState<boolean>();
  const isShown = chosen ?? block.isOpen;
  const took =
    block.startedAt === undefined || block.endedAt === undefined ? undefined : block.endedAt - block.startedAt;
  const title = block.isOpen
    ? t("chat.thinking")
    : took === undefined || took < 500
      ? t("chat.thought")
      : t("chat.thoughtFor", { time: duration(took) });
  return (
    <div className="reasoning-container" data-open={isShown || undefined}>
      <button type="button" className="reasoning-header" aria-expanded={isShown} onClick={() => setChosen(!isShown)}>
        <ChevronRight size={15} className="chevron" />
        <span className={block.isOpen ? "shimmer" : ""}>{title}</span>
      </button>
      {isShown && (
        <div className="reasoning-content">
          <Markdown text={block.text} isOpen={block.isOpen} />
        </div>
      )}
    </div>
  );
}

/** Says that the words were cut off, and what can be done about it. */
function Interrupted({ item }: { item: AssistantItem }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isLast = useSnapshot(({ thread: { order } }) => order.at(-1) === item.id);
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy);
  const byUser = item.stopReason === "" || /user|stop|cancel/iu.test(item.stopReason);
  const files = useKeepOrUndo();
  const take = async (how: "continue" | "regenerate") => {
    try {
      if (how === "regenerate" && !(await files.decide(questionBefore(thread, item.id)))) return;
      await thread.expectRun(takeUp(thread.id, how));
    } catch (error) {
      notifyError(error);
    }
    await thread.sync();
  };
  return (
    <div className="interrupted">
      {files.dialog}
      <span className="partial-indicator">
        {byUser ? t("chat.interrupted") : t("chat.interruptedFor", { reason: item.stopReason })}
      </span>
      {isLast && !isBusy && !thread.isPast && (
        <>
          <Button size="small" onClick={() => take("continue")}>
            <Play size={14} />
            {t("chat.continue")}
          </Button>
          <Button size="small" kind="quiet" onClick={() => take("regenerate")}>
            <RefreshCw size={14} />
            {t("chat.regenerate")}
          </Button>
        </>
      )}
    </div>
  );
}

function AssistantActions({ item, words }: { item: AssistantItem; words: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const [, navigate] = useLocation();
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy);
  const { runId } = item;
  const files = useKeepOrUndo();
  const again = async () => {
    try {
      // All of the answer is given anew, from what was asked on.
      if (!(await files.decide(questionBefore(thread, item.id)))) return;
      await thread.expectRun(sayAnew(thread.id, item.id));
    } catch (error) {
      notifyError(error);
    }
    await thread.sync();
  };
  return (
    <div className="message-actions" role="group" aria-label={t("chat.messageActions")}>
      <CopyButton text={words} label={t("chat.copyText")} className="icon-button" />
      <IconButton label={t("chat.regenerate")} onClick={again} disabled={isBusy}>
        <RefreshCw size={15} />
      </IconButton>
      <IconButton
        label={t("chat.fork")}
        onClick={() => forkThread(thread.id, item.id).then((id) => navigate(threadAddress(id)), notifyError)}
      >
        <GitFork size={15} />
      </IconButton>
      {runId !== undefined && (
        <IconButton label={t("chat.openRun")} onClick={() => navigate(runAddress(thread.id, runId))}>
          <Activity size={15} />
        </IconButton>
      )}
      <DeleteMessage id={item.id} />
      {files.dialog}
    </div>
  );
}

/** The message of the user that an answer belongs to; where that is not loaded, the answer. */
function questionBefore(thread: OpenThread, id: string): string {
  const { order, items } = thread.snapshot().thread;
  return order.slice(0, order.indexOf(id)).findLast((one) => items.get(one)?.kind === "user") ?? id;
}

/** Sources that are shown before the user asks for all. */
const firstSources = 5;

/** The pages of the web that an answer is made of. */
function Sources({ sources }: { sources: readonly Source[] }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? sources : sources.slice(0, firstSources);
  return (
    <div role="group" className="web-search-card" aria-label={t("chat.sources", { count: sources.length })}>
      <h3>{t("chat.sources", { count: sources.length })}</h3>
      <ol>
        {shown.map(({ title, url }, index) => {
          const target = targetOf(url);
          return (
            <li key={`${index} ${url}`}>
              {target.kind === "web" ? (
                <a href={target.address} target="_blank" rel="noreferrer noopener">
                  <span>{visible(title)}</span>
                  <small>{target.host}</small>
                </a>
              ) : (
                <span>{visible(title)}</span>
              )}
            </li>
          );
        })}
      </ol>
      {shown.length < sources.length && (
        <button type="button" className="code-more" onClick={() => setWhole(true)}>
          +{sources.length - shown.length}
        </button>
      )}
    </div>
  );
}

/** What the assistant proposes; one of it can be chosen while the conversation has not gone on. */
function Suggestions({ suggested }: { suggested: Suggested }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isOpen = suggested.state === "active" && !thread.isPast;
  const pick = (id: string) => () => {
    thread
      .expectRun(choose(thread.id, id))
      .catch(notifyError)
      .finally(() => void thread.sync());
  };
  return (
    <div className="suggestions" role="group" aria-label={t("chat.suggestions")} data-state={suggested.state}>
      {suggested.options.map(({ id, label, kind }) => (
        <button
          key={id}
          type="button"
          className="suggestion"
          disabled={!isOpen}
          data-kind={kind}
          data-chosen={id === suggested.selectedId || undefined}
          onClick={pick(id)}
        >
          {label}
        </button>
      ))}
      {suggested.state === "expired" && <small>{t("chat.expired")}</small>}
    </div>
  );
}
