import ArrowDown from "icon:arrow-down";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useIsBranched } from "../../api/branches.ts";
import { visible } from "../../markdown/links.ts";
import { Empty } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { isTyping } from "../../app/keys.ts";
import { currentPlan } from "../../thread/plan.ts";
import { useNamedItem } from "./find/named-item.ts";
import { ItemView } from "./item-view.tsx";
import { isWithin, keepTrying, Scrolling, ScrollingContext } from "./scrolling.ts";
import { IsBranched, ItemComponent, useOpenThread, useSnapshot } from "./thread-context.tsx";

/** Pixels from the end within which the page follows what comes. */
const followsWithin = 100;
/** Height of a message that was never drawn. */
const defaultHeight = 120;
/** Heights of the page above what is in sight within which older messages are loaded, before they are reached. */
const loadsWithin = 4;

/** The messages, of which only those in sight are drawn. It follows what comes while its end is in sight. */
export function Conversation() {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const order = useSnapshot((snapshot) => snapshot.thread.order);
  const before = useSnapshot((snapshot) => snapshot.before);
  const isBranched = useIsBranched(thread.id);
  const scroller = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [scrolling] = useState(() => new Scrolling());
  const isLoadingOlder = useRef(false);
  // Another function would mean other keys: all heights would be added up again, with every movement.
  const getItemKey = useCallback((index: number) => order[index] ?? index, [order]);
  const list = useVirtualizer({
    count: order.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => defaultHeight,
    getItemKey,
    overscan: 6,
    anchorTo: "end",
    followOnAppend: true,
    scrollEndThreshold: followsWithin,
    paddingStart: 16,
    paddingEnd: 24,
  });
  const toEnd = useCallback(() => {
    const element = scroller.current;
    if (element !== null) element.scrollTop = element.scrollHeight;
  }, []);
  useFollow(scroller, isAtEnd, toEnd);
  // What one has said oneself is seen, wherever one has scrolled to.
  const sending = useSnapshot(({ thread: { items, order: ids } }) => {
    const last = items.get(ids.at(-1) ?? "");
    return last?.kind === "user" && last.state === "sending" ? last.id : undefined;
  });
  useEffect(toEnd, [toEnd, sending]);
  const named = useNamedItem();
  useEffect(() => {
    if (named === undefined) return undefined;
    return keepTrying(scroller.current, () => {
      const index = thread.snapshot().thread.order.indexOf(named);
      if (index < 0 || isWithin(list.range, index)) return true;
      setAtEnd(false);
      list.scrollToIndex(index, { align: "center" });
      return false;
    });
  }, [list, named, thread]);
  const measureNamed = useCallback(
    (element: HTMLElement | null) => {
      list.measureElement(element);
      // A field in use keeps the focus; else the message gets it.
      if (element !== null && !isTyping(document.activeElement)) element.focus({ preventScroll: true });
    },
    [list],
  );
  const loadOlder = async () => {
    if (isLoadingOlder.current || before === null) return;
    isLoadingOlder.current = true;
    await thread.loadOlder().catch(notifyError);
    isLoadingOlder.current = false;
  };
  const onScroll = () => {
    const element = scroller.current;
    if (element === null) return;
    const isNearEnd = element.scrollHeight - element.scrollTop - element.clientHeight < followsWithin;
    setAtEnd(isNearEnd);
    // At its end the list is also moved by what comes.
    if (!isNearEnd) scrolling.moved();
    if (element.scrollTop < loadsWithin * element.clientHeight) void loadOlder();
  };
  if (order.length === 0) return <Empty title={t("chat.empty")} />;
  return (
    <div className="conversation-frame">
      <h2 className="visually-hidden">{t("chat.log")}</h2>
      <div
        className="conversation"
        ref={scroller}
        onScroll={onScroll}
        role="log"
        aria-label={t("chat.log")}
        aria-live="off"
        tabIndex={0}
      >
        <ScrollingContext value={scrolling}>
          <IsBranched value={isBranched}>
            <div className="conversation-inner" style={{ height: list.getTotalSize() }}>
              {list.getVirtualItems().map((item) => {
                const id = order[item.index];
                if (id === undefined) return null;
                return (
                  <div
                    key={item.key}
                    ref={id === named ? measureNamed : list.measureElement}
                    data-index={item.index}
                    data-found={id === named || undefined}
                    tabIndex={id === named ? -1 : undefined}
                    className="conversation-item"
                    style={{ transform: `translateY(${item.start}px)` }}
                  >
                    <ItemComponent value={ItemView}>
                      <ItemView id={id} next={order[item.index + 1]} />
                    </ItemComponent>
                  </div>
                );
              })}
            </div>
          </IsBranched>
        </ScrollingContext>
      </div>
      <Working />
      {!isAtEnd && (
        <button type="button" className="to-end" onClick={toEnd} aria-label={t("chat.toEnd")}>
          <ArrowDown size={18} />
        </button>
      )}
    </div>
  );
}

/** Keeps the end in sight while what stands there grows. */
function useFollow(scroller: React.RefObject<HTMLDivElement | null>, isAtEnd: boolean, toEnd: () => void): void {
  useEffect(() => {
    const element = scroller.current;
    const inner = element?.firstElementChild;
    if (!isAtEnd || element === null || !inner) return undefined;
    const observer = new ResizeObserver(toEnd);
    observer.observe(inner);
    observer.observe(element);
    return () => observer.disconnect();
  }, [scroller, isAtEnd, toEnd]);
}

/** Says that the assistant is at work, also where nothing has come yet. */
function Working() {
  const { t } = useTranslation();
  const isBusy = useSnapshot(({ thread }) => thread.isBusy);
  const isSpeaking = useSnapshot(({ thread }) => {
    const last = thread.items.get(thread.order.at(-1) ?? "");
    return last?.kind === "assistant" && last.isStreaming && last.blocks.length > 0;
  });
  const step = useSnapshot(({ thread }) =>
    thread.isBusy ? currentPlan(thread)?.find(({ state }) => state === "running")?.text : undefined,
  );
  const working = step === undefined ? t("chat.working") : t("chat.workingAt", { step: visible(step).slice(0, 200) });
  const words = isBusy ? (isSpeaking ? t("chat.answering") : working) : "";
  return (
    <div className="working" data-shown={(isBusy && !isSpeaking) || undefined} role="status">
      {isBusy && !isSpeaking && (
        <span className="dots" aria-hidden="true">
          <i />
          <i />
          <i />
        </span>
      )}
      <span className={isSpeaking ? "visually-hidden" : ""}>{words}</span>
    </div>
  );
}
