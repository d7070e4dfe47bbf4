import AudioWaveform from "icon:audio-waveform";
import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import { useId, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { saveAs } from "../../../api/operations.ts";
import type { Waveform } from "../../../api/shaping/circuit-shapes.ts";
import { useCurves } from "../../../api/shaping/circuits.ts";
import { visible } from "../../../markdown/links.ts";
import { Button, IconButton } from "../../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../../parts/states.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { manage } from "../../../text/manage/words.ts";
import { quantity, scaleOf, signalOf, unitOf } from "../figures.ts";
import { pictureOf } from "./plot-picture.ts";
import { Plot, type Curve } from "./plot.tsx";
import { csvOf, Readings, type Drawn } from "./readings.tsx";
import { panned, placeAt, zoomed } from "./scales.ts";

/** A simulation whose curves are shown. */
export interface Shown {
  id: string;
  number: string;
}

/** Points of a curve, and of one that is looked at more closely. */
const [defaultPoints, finePoints] = [300, 5_000];
/** Signals that are drawn before the user chooses: the output and, of an analysis by time, the input. */
const firstSignals = { complex: 1, real: 2 };
/** Steps of a cursor's slider, and how far a button moves what is shown, as a share of it. */
const [steps, stride] = [500, 0.25];

/** The curves of simulations over one another, the first of them the newest. */
export function Waveforms({ name, shown }: { name: string; shown: readonly Shown[] }) {
  const { t } = useTranslation(manage);
  const [isFine, setFine] = useState(false);
  const ids = shown.map(({ id }) => id);
  const usual = useCurves(name, ids, defaultPoints);
  // Until they are there, and where they do not come, it is the usual ones.
  const fine = useCurves(name, isFine ? ids : [], finePoints);
  const failed = usual.find(({ error, data }) => error !== null && data === undefined);
  if (shown.length === 0)
    return <Empty icon={<AudioWaveform />} title={t("circuits.noCurves")} hint={t("circuits.noCurvesHint")} />;
  if (failed !== undefined) return <Failed error={failed.error} onRetry={() => void failed.refetch()} />;
  const known = shown.flatMap((one, at) => {
    const { data = usual[at]?.data } = fine[at] ?? {};
    const waveforms = data?.waveforms.filter(({ x }) => x.length > 1);
    return waveforms === undefined ? [] : [{ ...one, dash: at, waveforms }];
  });
  if (known.length === 0) return <Loading lines={6} />;
  if (known.every(({ waveforms }) => waveforms.length === 0)) {
    return <Empty icon={<AudioWaveform />} title={t("circuits.noCurves")} hint={t("circuits.noCurvesHint")} />;
  }
  return <Drawing name={name} known={known} onFine={setFine} />;
}

type Known = Shown & { dash: number; waveforms: readonly Waveform[] };

function Drawing({
  name,
  known,
  onFine,
}: {
  name: string;
  known: readonly Known[];
  onFine: (isFine: boolean) => void;
}) {
  const { t } = useTranslation(manage);
  const analyses = [...new Set(known.flatMap(({ waveforms }) => waveforms.map(({ analysis }) => analysis)))];
  const [wanted, setWanted] = useState<string>();
  const analysis = analyses.find((one) => one === wanted) ?? analyses[0] ?? "";
  const drawn = known.flatMap((one) => {
    const waveform = one.waveforms.find((other) => other.analysis === analysis);
    return waveform === undefined ? [] : [{ ...one, waveform }];
  });
  const rows = [...new Set(drawn.flatMap(({ waveform }) => Object.keys(waveform.rows)))];
  const all = [...new Set(rows.map(signalOf))];
  const [chosen, setChosen] = useState<ReadonlySet<string>>();
  const ofAnalysis = all.filter((signal) => chosen?.has(signal));
  const signals =
    ofAnalysis.length > 0 ? ofAnalysis : all.slice(0, firstSignals[rows.length > all.length ? "complex" : "real"]);
  const toggle = (signal: string) => {
    const next = new Set(signals);
    if (!next.delete(signal)) next.add(signal);
    setChosen(next);
  };
  const choose = (next: string) => {
    setWanted(next);
    onFine(false);
  };
  return (
    <div className="waveforms">
      <div className="filters">
        <label className="prompt-thread">
          <span>{t("circuits.analysis")}</span>
          <select className="filter" value={analysis} onChange={({ target }) => choose(target.value)}>
            {analyses.map((one) => (
              <option key={one} value={one}>
                {visible(one)}
              </option>
            ))}
          </select>
        </label>
        <ul className="filters" aria-label={t("circuits.signals")}>
          {all.map((signal, at) => (
            <li key={signal}>
              <button
                type="button"
                className="filter mono"
                data-set={signals.includes(signal) || undefined}
                aria-pressed={signals.includes(signal)}
                onClick={() => toggle(signal)}
              >
                <i className="plot-key" data-hue={at % 6} />
                {visible(signal)}
              </button>
            </li>
          ))}
        </ul>
      </div>
      <Panels key={analysis} name={name} drawn={drawn} all={all} signals={rowsOf(rows, signals)} onFine={onFine} />
    </div>
  );
}

/** The rows of signals, the magnitudes before the phases. */
function rowsOf(rows: readonly string[], signals: readonly string[]): string[] {
  return rows.filter((row) => signals.includes(signalOf(row)));
}

/** One drawing for each unit, one below the other, under the same cursors. */
function Panels({
  name,
  drawn,
  all,
  signals,
  onFine,
}: {
  name: string;
  drawn: readonly Drawn[];
  all: readonly string[];
  signals: readonly string[];
  onFine: (isFine: boolean) => void;
}) {
  const { t } = useTranslation(manage);
  const { scale: named = "", analysis = "" } = drawn[0]?.waveform ?? {};
  const { unit: scaleUnit, kind, isLog } = scaleOf(named, analysis);
  const whole = wholeOf(drawn);
  const [zoom, setZoom] = useState<readonly [number, number]>();
  const range = zoom ?? whole;
  const [shares, setShares] = useState<readonly [number, number]>([0.25, 0.75]);
  const [a, b] = shares.map((share) => placeAt(share, range, isLog));
  const cursors = [a ?? range[0], b ?? range[1]] as const;
  const put = (cursor: 0 | 1, share: number) => setShares(cursor === 0 ? [share, shares[1]] : [shares[0], share]);
  const place = (share: number) => put(Math.abs(share - shares[0]) <= Math.abs(share - shares[1]) ? 0 : 1, share);
  const units = [...new Set(signals.map(unitOf))];
  const zoomIn = () => {
    setZoom(cursors[0] < cursors[1] ? cursors : [cursors[1], cursors[0]]);
    setShares([0.25, 0.75]);
    onFine(true);
  };
  const zoomBy = (share: number, factor: number) => {
    setZoom(zoomed(range, whole, { share, factor, isLog }));
    onFine(true);
  };
  const pan = (share: number, from = range) => setZoom(panned(from, whole, share, isLog));
  const frame = useRef<HTMLDivElement>(null);
  const file = name.split("/").at(-1);
  const saveCsv = () => saveAs(new Blob([csvOf(drawn, signals)], { type: "text/csv" }), `${file}.csv`);
  const savePicture = async () => {
    const drawings = [...(frame.current?.querySelectorAll<SVGSVGElement>(".plot > svg") ?? [])];
    saveAs(await pictureOf(visible(`${name} · ${analysis}`), drawings), `${file}.png`);
  };
  return (
    <>
      {drawn.length > 1 && (
        <ul className="plot-legend">
          {drawn.map(({ number, dash }) => (
            <li key={number}>
              <svg width={28} height={8} aria-hidden="true">
                <path d="M0 4H28" data-hue="0" data-dash={dash} />
              </svg>
              {number}
            </li>
          ))}
        </ul>
      )}
      <div ref={frame} className="waveforms">
        {units.map((unit) => {
          const own = signals.filter((signal) => unitOf(signal) === unit);
          return (
            <Plot
              key={unit}
              label={t("circuits.plotOf", { signals: own.join(", "), scale: t(`circuits.scales.${kind}`) })}
              curves={curvesOf(drawn, own, all)}
              unit={unit}
              scale={{ unit: scaleUnit, isLog }}
              range={range}
              cursors={cursors}
              onPlace={place}
              onPan={zoom && pan}
              onZoom={zoomBy}
            />
          );
        })}
      </div>
      <Sliders shares={shares} texts={cursors.map((at) => quantity(at, scaleUnit))} onPut={put} />
      <div className="filters">
        <Button size="small" disabled={shares[0] === shares[1]} onClick={zoomIn}>
          {t("circuits.zoom")}
        </Button>
        <Button size="small" kind="quiet" disabled={zoom === undefined} onClick={() => setZoom(undefined)}>
          {t("circuits.whole")}
        </Button>
        <IconButton label={t("circuits.left")} disabled={range[0] <= whole[0]} onClick={() => pan(-stride)}>
          <ChevronLeft size={18} />
        </IconButton>
        <IconButton label={t("circuits.right")} disabled={range[1] >= whole[1]} onClick={() => pan(stride)}>
          <ChevronRight size={18} />
        </IconButton>
        <Button size="small" kind="quiet" onClick={saveCsv}>
          {t("circuits.csv")}
        </Button>
        <Button size="small" kind="quiet" onClick={() => void savePicture().catch(notifyError)}>
          {t("circuits.png")}
        </Button>
      </div>
      <Readings drawn={drawn} signals={signals} all={all} cursors={cursors} scale={scaleUnit} />
    </>
  );
}

/** From where to where the scales of all curves go. */
function wholeOf(drawn: readonly Drawn[]): readonly [number, number] {
  const ends = drawn.flatMap(({ waveform: { x } }) => [x[0] ?? 0, x.at(-1) ?? 1]);
  return [Math.min(...ends), Math.max(...ends)];
}

function curvesOf(drawn: readonly Drawn[], signals: readonly string[], all: readonly string[]): Curve[] {
  return drawn.toReversed().flatMap(({ number, waveform: { x, rows }, dash }) =>
    signals.flatMap((signal) => {
      const y = rows[signal];
      const name = drawn.length > 1 ? `${signal} · ${number}` : signal;
      return y === undefined ? [] : [{ name, x, y, hue: all.indexOf(signalOf(signal)) % 6, dash }];
    }),
  );
}

/** The cursors for the keyboard; a press on a drawing puts the nearer one there. */
function Sliders({
  shares,
  texts,
  onPut,
}: {
  shares: readonly [number, number];
  texts: readonly string[];
  onPut: (cursor: 0 | 1, share: number) => void;
}) {
  const { t } = useTranslation(manage);
  const id = useId();
  return (
    <div className="plot-sliders">
      {([0, 1] as const).map((cursor) => (
        <div key={cursor}>
          <label htmlFor={`${id}-${cursor}`}>{t(cursor === 0 ? "circuits.cursorA" : "circuits.cursorB")}</label>
          <input
            id={`${id}-${cursor}`}
            type="range"
            min={0}
            max={steps}
            value={Math.round(shares[cursor] * steps)}
            aria-valuetext={texts[cursor]}
            onChange={({ target }) => onPut(cursor, Number(target.value) / steps)}
          />
          <output>{texts[cursor]}</output>
        </div>
      ))}
    </div>
  );
}
