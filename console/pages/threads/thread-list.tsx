import ListFilter from "icon:list-filter";
import Search from "icon:search";
import Upload from "icon:upload";
import { useVirtualizer } from "@tanstack/react-virtual";
import i18next from "i18next";
import { useCallback, useEffect, useMemo, useRef, useState, type DragEvent, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { foundAddress, threadAddress } from "../../app/addresses.ts";
import { useCommands } from "../../app/commands.ts";
import { useSettled } from "../../app/settled.ts";
import { importThread, readNextPage, useThreads } from "../../api/threads.ts";
import type { ThreadInfo } from "../../api/shapes.ts";
import { IconButton } from "../../parts/button.tsx";
import { useKeptFocus } from "../../parts/focus.ts";
import { Empty, Failed, Loading, messageOf } from "../../parts/states.tsx";
import { notify } from "../../parts/toast.tsx";
import { isComposing } from "../../app/keys.ts";
import { ageGroup } from "../../text/time.ts";
import { useDeleting } from "../delete-soon.ts";
import { ThreadFilters, useThreadFilter } from "./thread-filter.tsx";
import { ThreadRow, wordsBelow } from "./thread-row.tsx";

type Group = "waiting" | "working" | "pinned" | "today" | "yesterday" | "week" | "older" | "archived";
type Row = { kind: "head"; group: Group } | { kind: "thread"; thread: ThreadInfo };
const order: readonly Group[] = ["waiting", "working", "pinned", "today", "yesterday", "week", "older", "archived"];

const none: readonly ThreadInfo[] = [];

function threadsOf({ data }: ReturnType<typeof useThreads>): readonly ThreadInfo[] | undefined {
  return data?.pages.flatMap((page) => page.threads);
}

/** The threads of this person: grouped by what waits, what works, and age. `onOpen`: one is chosen, also the one that is open. */
export function ThreadList({ onOpen }: { onOpen: () => void }) {
  const { t } = useTranslation();
  const [location, navigate] = useLocation();
  const [words, setWords] = useState("");
  const filter = useThreadFilter();
  const [wantsFilters, setWantsFilters] = useState(false);
  const showsFilters = wantsFilters || filter.isSet;
  const field = useRef<HTMLInputElement>(null);
  const query = useSettled(words.trim());
  const { archived, ...others } = filter.wanted;
  // What is looked for may be in the archive.
  const threads = useThreads(
    query === "" ? filter.wanted : { ...others, query, ...(archived === true && { archived }) },
  );
  const pinned = useThreads({ ...filter.wanted, pinned: true });
  const rows = useRows(threadsOf(threads), query === "" ? (threadsOf(pinned) ?? none) : none);
  const current = /^\/t\/([^/]+)/u.exec(location)?.[1];
  useKeptFocus(".thread-row", ".list-tools input");
  const bringIn = (files: Iterable<File>) => void importFiles([...files], (id) => navigate(threadAddress(id)));
  useCommands(
    useMemo(
      () => [
        {
          id: "search-list",
          group: "here" as const,
          label: t("keys.search"),
          keys: "/",
          run: () => field.current?.focus(),
        },
      ],
      [t],
    ),
  );
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    bringIn(event.dataTransfer.files);
  };
  return (
    <div className="thread-list" onDragOver={(event) => event.preventDefault()} onDrop={onDrop}>
      <div className="list-tools">
        <label className="search-field">
          <Search size={16} />
          <span className="visually-hidden">{t("threads.search")}</span>
          <input
            ref={field}
            type="search"
            value={words}
            placeholder={t("threads.search")}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => {
              const first = rows.find((row) => row.kind === "thread");
              if (event.key !== "Enter" || isComposing(event.nativeEvent) || query !== words.trim()) return;
              if (query === "" || threads.isPlaceholderData || first === undefined) return;
              event.currentTarget.blur();
              navigate(foundAddress(first.thread, filter.search));
              onOpen();
            }}
          />
        </label>
        <ImportButton onFiles={bringIn} />
        <IconButton
          label={t("threads.filters")}
          aria-expanded={showsFilters}
          onClick={() => setWantsFilters(!wantsFilters)}
        >
          <ListFilter size={16} />
        </IconButton>
      </div>
      {showsFilters && <ThreadFilters filter={filter} />}
      {threads.isPending && <Loading lines={6} />}
      {threads.error !== null && threads.data === undefined && (
        <Failed error={threads.error} onRetry={() => void threads.refetch()} />
      )}
      {threads.data !== undefined && rows.length === 0 && (
        <Empty
          title={query !== "" ? t("threads.noHits", { query }) : t(filter.isSet ? "threads.noFits" : "threads.empty")}
          {...(query === "" && !filter.isSet && { hint: t("threads.emptyHint") })}
        />
      )}
      {rows.length > 0 && (
        <Rows
          rows={rows}
          current={current}
          search={filter.search}
          onOpen={onOpen}
          onEnd={() => threads.hasNextPage && !threads.isFetchingNextPage && void readNextPage(threads)}
        />
      )}
    </div>
  );
}

/** Pixels of a row, as the sheet has them. */
function heightOf(row: Row | undefined): number {
  if (row?.kind !== "thread") return 34;
  return wordsBelow(row.thread) ? 58 : 42;
}

function Rows({
  rows,
  current,
  search,
  onOpen,
  onEnd,
}: {
  rows: readonly Row[];
  current: string | undefined;
  search: string;
  onOpen: () => void;
  onEnd: () => void;
}) {
  const { t } = useTranslation();
  const scroller = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState<{ id: string; current: string | undefined }>();
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index];
      return row?.kind === "thread" ? row.thread.thread_id : `head-${row?.group ?? index}`;
    },
    [rows],
  );
  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => heightOf(rows[index]),
    overscan: 8,
    getItemKey,
  });
  const items = list.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (last >= rows.length - 10) onEnd();
  }, [last, rows.length, onEnd]);
  const drawn = items.flatMap(({ index }) => {
    const row = rows[index];
    return row?.kind === "thread" ? [row.thread.thread_id] : [];
  });
  // Tab stops at one row of the list: where the arrows have led since a chat was opened, else at that chat.
  const led = focused?.current === current ? focused?.id : undefined;
  const stop = [led, current].find((id) => id !== undefined && drawn.includes(id)) ?? drawn[0];
  return (
    <div className="list-scroll" ref={scroller}>
      <ul style={{ height: list.getTotalSize(), position: "relative" }} onKeyDown={moveFocus}>
        {items.map((item) => {
          const row = rows[item.index];
          const style = { position: "absolute", insetInline: 0, transform: `translateY(${item.start}px)` } as const;
          if (row === undefined) return null;
          if (row.kind === "head") {
            return (
              <li key={item.key} style={style} className="list-group">
                {t(`threads.${row.group}`)}
              </li>
            );
          }
          return (
            <li key={item.key} style={style} onFocus={() => setFocused({ id: row.thread.thread_id, current })}>
              <ThreadRow
                thread={row.thread}
                isCurrent={row.thread.thread_id === current}
                isStop={row.thread.thread_id === stop}
                search={search}
                onOpen={onOpen}
              />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

const steps: Readonly<Record<string, number>> = { ArrowDown: 1, ArrowUp: -1 };

/** Moves the focus to the chat above or below. */
function moveFocus(event: KeyboardEvent<HTMLElement>): void {
  const step = steps[event.key];
  if (step === undefined || !(event.target instanceof Element) || !event.target.matches(".thread-link")) return;
  event.preventDefault();
  const links = [...event.currentTarget.querySelectorAll<HTMLElement>(".thread-link")];
  links[links.findIndex((link) => link === event.target) + step]?.focus();
}

function useRows(threads: readonly ThreadInfo[] | undefined, pinned: readonly ThreadInfo[]): Row[] {
  const deleting = useDeleting();
  return useMemo(() => {
    // A thread that was pinned long ago may be far down the list.
    const all = new Map([...pinned, ...(threads ?? [])].map((thread) => [thread.thread_id, thread]));
    const known = [...all.values()].filter(({ thread_id }) => !deleting.has(thread_id));
    const groups = Map.groupBy(known, groupOf);
    return order.flatMap((group): Row[] => {
      const inside = groups.get(group) ?? [];
      if (inside.length === 0) return [];
      return [{ kind: "head", group }, ...inside.map((thread) => ({ kind: "thread" as const, thread }))];
    });
  }, [threads, pinned, deleting]);
}

function groupOf({ status, pinned, archived, updated_at }: ThreadInfo): Group {
  if (archived) return "archived";
  if (status === "interrupted") return "waiting";
  if (status === "busy") return "working";
  return pinned ? "pinned" : ageGroup(updated_at);
}

function ImportButton({ onFiles }: { onFiles: (files: Iterable<File>) => void }) {
  const { t } = useTranslation();
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton label={t("threads.import")} onClick={() => input.current?.click()}>
        <Upload size={16} />
      </IconButton>
      <input
        ref={input}
        type="file"
        accept="application/json,.json"
        multiple
        hidden
        onChange={(event) => {
          onFiles(event.target.files ?? []);
          event.target.value = "";
        }}
      />
    </>
  );
}

async function importFiles(files: readonly File[], open: (id: string) => void): Promise<void> {
  let last: string | undefined;
  let count = 0;
  for (const file of files) {
    try {
      last = await importThread(file);
      count += 1;
    } catch (error) {
      const words = { name: file.name, reason: messageOf(error) };
      notify(i18next.t("threads.importFailed", words), { kind: "error" });
    }
  }
  if (last === undefined) return;
  notify(i18next.t("threads.imported", { count }));
  open(last);
}
