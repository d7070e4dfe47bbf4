import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Iteration } from "../../api/shaping/circuit-shapes.ts";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { DiffLines } from "../../parts/diff.tsx";
import { diffOf } from "../../run/state-diff.ts";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { PlaceLink } from "../place-link.tsx";
import { bestOf, reachedIn } from "./figures.ts";

/** A simulation with its number among those of its circuit. */
export type Numbered = Iteration & { number: number };

/** The simulations of a circuit, newest first: how good each was, what had changed before it, and the way back to it. */
export function IterationList({
  iterations,
  hash,
  current,
  overlaid,
  isBusy,
  onShow,
  onOverlay,
  onBack,
}: {
  iterations: readonly Numbered[];
  /** The hash of the circuit's text as it is now. */
  hash: string;
  /** The id of the one whose figures are shown. */
  current: string | undefined;
  /** The ids of those whose curves are drawn. */
  overlaid: ReadonlySet<string>;
  isBusy: boolean;
  onShow: (id: string) => void;
  onOverlay: (id: string) => void;
  onBack: (to: Numbered) => void;
}) {
  const { t } = useTranslation(manage);
  const best = bestOf(iterations);
  return (
    <section className="prompt-part" aria-label={t("circuits.iterations")}>
      <h2>{t("circuits.iterations")}</h2>
      {iterations.length === 0 && <p className="hint">{t("circuits.noIterations")}</p>}
      <ol className="iterations" reversed>
        {iterations.map((one, at) => (
          <li key={one.iteration_id} data-here={one.iteration_id === current || undefined}>
            <Row
              one={one}
              before={iterations.slice(at + 1).find(({ netlist }) => netlist?.text !== undefined)}
              rank={one === best?.iteration ? best.name : undefined}
              isNow={one.netlist?.hash === hash}
              isHere={one.iteration_id === current}
              isOverlaid={overlaid.has(one.iteration_id)}
              isBusy={isBusy}
              onShow={() => onShow(one.iteration_id)}
              onOverlay={() => onOverlay(one.iteration_id)}
              onBack={() => onBack(one)}
            />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Row({
  one,
  before,
  rank,
  isNow,
  isHere,
  isOverlaid,
  isBusy,
  onShow,
  onOverlay,
  onBack,
}: {
  one: Numbered;
  before: Iteration | undefined;
  /** What it is called among the others. */
  rank: "best" | "closest" | undefined;
  isNow: boolean;
  isHere: boolean;
  isOverlaid: boolean;
  isBusy: boolean;
  onShow: () => void;
  onOverlay: () => void;
  onBack: () => void;
}) {
  const { t } = useTranslation(manage);
  const { number, at, status, message, goals, notes, netlist, is_kept, thread_id, run_id } = one;
  return (
    <>
      <div className="iteration-head">
        {is_kept && (
          <input
            type="checkbox"
            checked={isOverlaid}
            aria-label={t("circuits.overlay", { number })}
            onChange={onOverlay}
          />
        )}
        <button type="button" className="iteration-open" aria-expanded={isHere} onClick={onShow}>
          <b>{t("circuits.number", { number })}</b>
          <Ago at={at} />
          {status !== "done" && (
            <span className="chip" data-status={status}>
              {t(`circuits.status.${status}`)}
            </span>
          )}
          {rank !== undefined && (
            <span className="chip" data-rank={rank}>
              {t(`circuits.${rank}`)}
            </span>
          )}
          {isNow && <span className="chip">{t("circuits.now")}</span>}
          {goals.length > 0 && <small>{t("circuits.reachedOf", { reached: reachedIn(one), all: goals.length })}</small>}
        </button>
      </div>
      {isHere && (
        <div className="iteration-body">
          {message !== null && <p className="problem">{visible(message)}</p>}
          {notes.map((note) => (
            <p key={note} className="hint">
              {visible(note)}
            </p>
          ))}
          <Changed one={one} before={before} />
          <div className="filters">
            {netlist?.text !== undefined && netlist.text !== null && !isNow && (
              <Button size="small" disabled={isBusy} onClick={onBack}>
                {t("circuits.back")}
              </Button>
            )}
            <PlaceLink address={threadAddress(thread_id)}>{t("files.toChat")}</PlaceLink>
            {run_id !== null && <PlaceLink address={runAddress(thread_id, run_id)}>{t("files.toRun")}</PlaceLink>}
          </div>
        </div>
      )}
    </>
  );
}

/** What had changed in the netlist since the simulation before. */
function Changed({ one: { netlist, status, is_kept }, before }: { one: Iteration; before: Iteration | undefined }) {
  const { t } = useTranslation(manage);
  const [now, then] = [netlist?.text, before?.netlist?.text];
  const lines = useMemo(
    () => (typeof now === "string" && typeof then === "string" ? diffOf(then.split("\n"), now.split("\n")) : []),
    [now, then],
  );
  if (status === "failed" || status === "running") return null;
  if (!is_kept || typeof now !== "string") return <p className="hint">{t("circuits.notKept")}</p>;
  if (typeof then !== "string") return <p className="hint">{t("circuits.first")}</p>;
  if (now === then) return <p className="hint">{t("circuits.same")}</p>;
  return (
    <>
      <h3 className="tool-label">{t("circuits.changed")}</h3>
      <DiffLines lines={lines} />
    </>
  );
}
