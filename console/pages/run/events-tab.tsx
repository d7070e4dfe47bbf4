import Download from "icon:download";
import Search from "icon:search";
import Terminal from "icon:terminal";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useDeferredValue, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { ServerEvent } from "../../api/live/server-events.ts";
import { eventsPath, useRunEvents } from "../../api/runs/run-events.ts";
import { visible } from "../../markdown/links.ts";
import { IconButton } from "../../parts/button.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { jsonText } from "../../text/json-text.ts";
import { byteSize } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";

const rowHeight = 30;
/** Characters of an event that stand in its row. */
const preview = 300;

/** The raw events of a run: filtered, one opened, followed, saved. */
export function EventsTab({ threadId, runId }: { threadId: string; runId: string }) {
  const { t } = useTranslation(work);
  const { events, isPending, error } = useRunEvents(threadId, runId);
  const [kind, setKind] = useState("");
  const [words, setWords] = useState("");
  const [chosen, setChosen] = useState<ServerEvent>();
  const [follows, setFollows] = useState(false);
  const wanted = useDeferredValue(words.trim().toLowerCase());
  const kinds = useMemo(() => [...new Set(events.map(({ name }) => kindOf(name)))].toSorted(), [events]);
  const shown = useMemo(
    () =>
      events.filter(
        ({ name, data }) =>
          (kind === "" || kindOf(name) === kind) &&
          (wanted === "" || name.toLowerCase().includes(wanted) || data.toLowerCase().includes(wanted)),
      ),
    [events, kind, wanted],
  );
  const save = () => {
    const lines = shown.map(({ id, name, data }) => JSON.stringify({ id, event: name, data: parsed(data) }));
    const address = URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], { type: "application/x-ndjson" }));
    const link = document.createElement("a");
    link.href = address;
    link.download = `run-${runId}.ndjson`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 1_000);
  };
  const curl = `curl -N -H 'Last-Event-ID: -1' '${location.origin}${eventsPath(threadId, runId)}'`;
  if (isPending) return <Loading lines={8} />;
  if (error !== undefined && events.length === 0) return <Failed error={error} />;
  return (
    <div className="events-tab">
      <div className="time-tools">
        <label className="search-field">
          <Search size={16} />
          <span className="visually-hidden">{t("run.filter")}</span>
          <input
            type="search"
            value={words}
            placeholder={t("run.filter")}
            onChange={(event) => setWords(event.target.value)}
          />
        </label>
        <select
          className="filter"
          aria-label={t("run.eventKind")}
          value={kind}
          onChange={({ target }) => setKind(target.value)}
        >
          <option value="">{t("run.allKinds")}</option>
          {kinds.map((one) => (
            <option key={one} value={one}>
              {visible(one)}
            </option>
          ))}
        </select>
        <label className="time-check">
          <input type="checkbox" checked={follows} onChange={({ target }) => setFollows(target.checked)} />
          {t("run.follow")}
        </label>
        <span className="hint">{t("run.eventCount", { count: shown.length })}</span>
        <span className="space" />
        <IconButton
          label={t("run.copyCurl")}
          onClick={() => void navigator.clipboard.writeText(curl).then(() => notify(curl), notifyError)}
        >
          <Terminal size={16} />
        </IconButton>
        <IconButton label={t("run.download")} disabled={shown.length === 0} onClick={save}>
          <Download size={16} />
        </IconButton>
      </div>
      {shown.length === 0 ? (
        <Empty title={t(events.length === 0 ? "run.noneKept" : "run.noEvents")} />
      ) : (
        <EventList events={shown} chosen={chosen} follows={follows} onChoose={setChosen} />
      )}
      {chosen !== undefined && (
        <div className="event-open">
          <LongText key={chosen.id} text={pretty(chosen.data)} label={`${chosen.id} ${chosen.name}`} />
        </div>
      )}
    </div>
  );
}

function EventList({
  events,
  chosen,
  follows,
  onChoose,
}: {
  events: readonly ServerEvent[];
  chosen: ServerEvent | undefined;
  follows: boolean;
  onChoose: (event: ServerEvent) => void;
}) {
  const { t } = useTranslation(work);
  const scroller = useRef<HTMLDivElement>(null);
  const list = useVirtualizer({
    count: events.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 12,
  });
  useEffect(() => {
    if (follows) list.scrollToIndex(events.length - 1);
  }, [follows, events.length, list]);
  return (
    <div className="time-scroll" ref={scroller} role="region" aria-label={t("run.eventList")} tabIndex={0}>
      <ol style={{ height: list.getTotalSize(), position: "relative" }}>
        {list.getVirtualItems().map((item) => {
          const event = events[item.index];
          if (event === undefined) return null;
          return (
            <li key={item.key} className="event-row" style={{ transform: `translateY(${item.start}px)` }}>
              <button type="button" aria-pressed={event === chosen} onClick={() => onChoose(event)}>
                <code>{event.id}</code>
                <b>{visible(event.name)}</b>
                <span>{visible(event.data.slice(0, preview))}</span>
                <small>{byteSize(event.data.length)}</small>
              </button>
            </li>
          );
        })}
      </ol>
    </div>
  );
}

/** The kind of an event without the subgraph that it comes from. */
function kindOf(name: string): string {
  return name.split("|")[0] ?? name;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

function pretty(text: string): string {
  const value = parsed(text);
  return typeof value === "string" ? value : jsonText(value);
}
