import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { maxRead, useContents } from "../../api/runs/compared.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { pairsOf, placesOf, type Contents, type Pair, type Place } from "../../run/compare.ts";
import { preciseDuration } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { useSpanTitle } from "../run/span-title.ts";
import type { Side } from "./compared-facts.tsx";
import { ComparedCalls } from "./compared-calls.tsx";

/** Places that are drawn at first. */
const pageSize = 300;

/** What two runs did, place by place; the first at which they differ is marked. */
export function ComparedPlaces({ left, right }: { left: Side; right: Side }) {
  const { t } = useTranslation(work);
  const [one, ofOne] = usePlaces(left);
  const [other, ofOther] = usePlaces(right);
  const pairs = useMemo(
    () => pairsOf(one, other, new Map([...(ofOne ?? []), ...(ofOther ?? [])])),
    [one, other, ofOne, ofOther],
  );
  const first = pairs.findIndex(({ difference }) => difference !== undefined);
  const [shown, setShown] = useState(pageSize);
  const [open, setOpen] = useState<number>();
  const mark = useRef<HTMLLIElement>(null);
  const error = left.trace.error ?? right.trace.error;
  const isPending = left.trace.isPending || right.trace.isPending;
  const [wanted, setWanted] = useState(0);
  useEffect(() => {
    if (wanted > 0) mark.current?.querySelector("button")?.focus();
  }, [wanted]);
  const goToFirst = () => {
    setShown((before) => Math.max(before, first + 1));
    setWanted(wanted + 1);
  };
  return (
    <section className="prompt-part" aria-label={t("compare.places")}>
      <div className="row-between">
        <h2>{t("compare.places")}</h2>
        {first >= 0 && (
          <Button size="small" onClick={goToFirst}>
            {t("compare.toFirst")}
          </Button>
        )}
      </div>
      {error !== undefined && <Failed error={error} />}
      {error === undefined && isPending && <Loading lines={6} />}
      {!isPending && pairs.length === 0 && error === undefined && <p className="hint">{t("run.nothing")}</p>}
      {!isPending && pairs.length > 0 && first < 0 && <p className="shaping-good">{t("compare.same")}</p>}
      <ol className="compare-rows">
        {pairs.slice(0, shown).map((pair, index) => (
          <li
            key={`${pair.left?.span.id ?? ""} ${pair.right?.span.id ?? ""}`}
            ref={index === first ? mark : undefined}
            data-differs={pair.difference !== undefined || undefined}
            data-first={index === first || undefined}
          >
            <Row
              pair={pair}
              isFirst={index === first}
              isOpen={open === index}
              onOpen={() => setOpen(open === index ? undefined : index)}
            />
            {open === index && <ComparedCalls left={left.run} right={right.run} pair={pair} />}
          </li>
        ))}
      </ol>
      {pairs.length > shown && (
        <Button size="small" onClick={() => setShown(shown + pageSize)}>
          {t("compare.further", { count: pairs.length - shown })}
        </Button>
      )}
      {pairs.length > maxRead && <p className="hint">{t("compare.read", { count: maxRead })}</p>}
    </section>
  );
}

function usePlaces({ run, isOver, trace: { spans, isPending } }: Side): [Place[], Contents | undefined] {
  const places = useMemo(() => placesOf(spans), [spans]);
  return [places, useContents(run.thread_id, run.run_id, { places, isOver: isOver && !isPending }).data];
}

function Row({ pair, isFirst, isOpen, onOpen }: { pair: Pair; isFirst: boolean; isOpen: boolean; onOpen: () => void }) {
  const { t } = useTranslation(work);
  const { left, right, difference } = pair;
  return (
    <button type="button" className="compare-row" aria-expanded={isOpen} onClick={onOpen}>
      <Half place={left} />
      <Half place={right} />
      <span className="compare-note">
        {isFirst && <b className="chip">{t("compare.first")}</b>}
        {difference !== undefined && t(`compare.difference.${difference}`)}
      </span>
    </button>
  );
}

function Half({ place }: { place: Place | undefined }) {
  return place === undefined ? <span className="compare-half">–</span> : <Known place={place} />;
}

function Known({ place: { span, depth } }: { place: Place }) {
  const { t } = useTranslation(work);
  const title = useSpanTitle(span);
  const took = span.start !== null && span.end !== null ? preciseDuration(span.end - span.start) : "";
  return (
    <span className="compare-half">
      <span style={{ paddingInlineStart: `${Math.min(depth, 6) * 12}px` }}>
        {title} <small>{t(`run.kind.${span.kind}`)}</small>
      </span>
      <small>{took}</small>
    </span>
  );
}
