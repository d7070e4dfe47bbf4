import { useTranslation } from "react-i18next";
import { useCurves, useIterationOf } from "../../../api/shaping/circuits.ts";
import { circuitAddress } from "../../../app/addresses.ts";
import { visible } from "../../../markdown/links.ts";
import { manage } from "../../../text/manage/words.ts";
import { PlaceLink } from "../../place-link.tsx";
import { quantity, reachedIn, scaleOf, unitOf } from "../figures.ts";
import { pathOf } from "./plot.tsx";
import { linearAxis, logAxis, rangeOf } from "./scales.ts";

/** The size of the drawing in its own units: it is as wide as there is room. */
const [width, height, points] = [300, 60, 120];

/** What came of one simulation, beside its call in a chat: its first curve, its goals, and the way to all of it. */
export function SimulationFigure({
  circuit,
  threadId,
  callId,
}: {
  circuit: string;
  threadId: string;
  /** The call in the tool log. */
  callId: string;
}) {
  const { t } = useTranslation(manage);
  const { data: one } = useIterationOf(circuit, threadId, callId);
  const [read] = useCurves(circuit, one?.is_kept === true ? [one.iteration_id] : [], points);
  if (one === undefined || one === null) return null;
  const waveform = read?.data?.waveforms.find(({ x }) => x.length > 1);
  const [row, y = []] = Object.entries(waveform?.rows ?? {})[0] ?? [];
  return (
    <div className="tool-body simulation-figure">
      {waveform !== undefined && row !== undefined && <Curve {...waveform} row={row} y={y} />}
      <p className="row-between">
        <span className="hint">
          {one.goals.length > 0 && t("circuits.reachedOf", { reached: reachedIn(one), all: one.goals.length })}
        </span>
        <PlaceLink address={circuitAddress(circuit, "waveforms")}>{t("circuits.waveforms")}</PlaceLink>
      </p>
    </div>
  );
}

function Curve({
  analysis,
  scale,
  x,
  row,
  y,
}: {
  analysis: string;
  scale: string;
  x: readonly number[];
  row: string;
  y: readonly number[];
}) {
  const { t } = useTranslation(manage);
  const { unit, kind, isLog } = scaleOf(scale, analysis);
  const ends = [x[0] ?? 0, x.at(-1) ?? 1] as const;
  const range = rangeOf([{ x, y }], ends);
  if (range === undefined) return null;
  const across = (isLog ? logAxis : linearAxis)(...ends, 1);
  const up = linearAxis(...range, 1);
  return (
    <>
      <svg
        role="img"
        aria-label={visible(t("circuits.plotOf", { signals: row, scale: t(`circuits.scales.${kind}`) }))}
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        className="plot-curves"
        width="100%"
        height={height}
      >
        <path
          vectorEffect="non-scaling-stroke"
          d={pathOf(
            x,
            y,
            (value) => across.place(value) * width,
            (value) => (1 - up.place(value)) * height,
          )}
        />
      </svg>
      <p className="hint">
        {t("circuits.curveOf", {
          signal: visible(row),
          least: quantity(Math.min(...y), unitOf(row)),
          most: quantity(Math.max(...y), unitOf(row)),
          from: quantity(ends[0], unit),
          to: quantity(ends[1], unit),
        })}
      </p>
    </>
  );
}
