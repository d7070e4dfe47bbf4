import ChevronDown from "icon:chevron-down";
import ChevronUp from "icon:chevron-up";
import Search from "icon:search";
import X from "icon:x";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { messageAddress } from "../../../app/addresses.ts";
import { useCommands, type Command } from "../../../app/commands.ts";
import { isComposing } from "../../../app/keys.ts";
import { useSettled } from "../../../app/settled.ts";
import { useHits } from "../../../api/search.ts";
import { IconButton } from "../../../parts/button.tsx";
import { messageOf } from "../../../parts/states.tsx";
import { useOpenThread } from "../thread-context.tsx";
import { useHighlight } from "./highlight.ts";

/** Finds a text in all messages of the chat, also in those that are not loaded, and goes from one to the next. */
export function FindBar({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { id } = useOpenThread();
  const [, navigate] = useLocation();
  const search = useSearch();
  const field = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState("");
  const query = useSettled(words.trim());
  const found = useHits(id, query);
  const hits = useMemo(() => found.data?.pages.toReversed().flatMap((page) => page.hits) ?? [], [found.data]);
  const total = found.data?.pages[0]?.total ?? 0;
  // Counted from the newest: what is read of older ones changes nothing. It may be asked for before anything is found.
  const [passed, setPassed] = useState({ query, count: 0 });
  const place = (steps: number) => {
    // Beyond an end it goes on at the other, as far as that is known.
    const known = steps >= hits.length && found.hasNextPage ? total : hits.length;
    return known === 0 ? steps : ((steps % known) + known) % known;
  };
  const count = passed.query === query ? place(passed.count) : 0;
  const shown = hits.at(-1 - count)?.message_id ?? undefined;
  const lacks = count >= hits.length && found.hasNextPage && !found.isFetching && found.error === null;
  useEffect(() => {
    if (lacks) void found.fetchNextPage();
  }, [found, lacks]);
  useHighlight(query);
  useFindKey(field);
  useEffect(() => field.current?.focus(), []);
  useEffect(() => {
    if (shown !== undefined) navigate(messageAddress(id, shown, search), { replace: true });
  }, [id, navigate, search, shown]);
  const go = (by: number) => {
    const wanted = words.trim();
    setPassed((now) => ({ query: wanted, count: (now.query === wanted ? place(now.count) : 0) + by }));
    if (found.isFetchNextPageError) void found.fetchNextPage();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    const by = { Enter: event.shiftKey ? -1 : 1, ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (by !== undefined) go(by);
    else if (event.key === "Escape") onClose();
    else return;
    event.preventDefault();
  };
  const resultText =
    found.error !== null
      ? messageOf(found.error)
      : total > 0
        ? t("find.place", { at: total - count, total })
        : t("find.none", { query });
  return (
    <div className="list-tools" role="search">
      <label className="search-field">
        <Search size={16} />
        <span className="visually-hidden">{t("find.title")}</span>
        <input
          ref={field}
          type="search"
          maxLength={500}
          value={words}
          placeholder={t("find.title")}
          onChange={({ target }) => setWords(target.value)}
          onKeyDown={onKeyDown}
        />
      </label>
      <span className="hint" role="status">
        {query === "" || found.isPending ? "" : resultText}
      </span>
      <IconButton label={t("find.older")} disabled={total < 2} onClick={() => go(1)}>
        <ChevronUp size={16} />
      </IconButton>
      <IconButton label={t("find.newer")} disabled={total < 2} onClick={() => go(-1)}>
        <ChevronDown size={16} />
      </IconButton>
      <IconButton label={t("app.close")} onClick={onClose}>
        <X size={16} />
      </IconButton>
    </div>
  );
}

/** The key goes to the field; in the field it is the browser's own. */
function useFindKey(field: React.RefObject<HTMLInputElement | null>): void {
  const { t } = useTranslation();
  const [isHere, setHere] = useState(true);
  useEffect(() => {
    const look = () => setHere(document.activeElement === field.current);
    addEventListener("focusin", look);
    addEventListener("focusout", look);
    return () => {
      removeEventListener("focusin", look);
      removeEventListener("focusout", look);
    };
  }, [field]);
  useCommands(
    useMemo((): Command[] => {
      const run = () => field.current?.focus();
      return isHere ? [] : [{ id: "find", group: "here", label: t("find.title"), keys: "mod+f", run }];
    }, [field, isHere, t]),
  );
}
