import { useTranslation } from "react-i18next";
import type { Waveform } from "../../../api/shaping/circuit-shapes.ts";
import { visible } from "../../../markdown/links.ts";
import { manage } from "../../../text/manage/words.ts";
import { quantity, signalOf, unitOf } from "../figures.ts";
import { valueAt } from "./scales.ts";

/** The curves of one analysis of a simulation, and how they are drawn. */
export interface Drawn {
  number: string;
  dash: number;
  waveform: Waveform;
}

/** What each curve is at the cursors, and by how much it differs between them. */
export function Readings({
  drawn,
  signals,
  all,
  cursors,
  scale,
}: {
  drawn: readonly Drawn[];
  signals: readonly string[];
  all: readonly string[];
  cursors: readonly [number, number];
  scale: string;
}) {
  const { t } = useTranslation(manage);
  const rows = signals.flatMap((signal) =>
    drawn.map(({ waveform: { x, rows: own }, number }) => {
      const values = cursors.map((place) => valueAt(x, own[signal] ?? [], place));
      return { signal, number, values, unit: unitOf(signal) };
    }),
  );
  const shown = (value: number | undefined, unit: string): string =>
    value === undefined ? "–" : quantity(value, unit);
  return (
    <div className="figures-table" role="group" tabIndex={0} aria-label={t("circuits.difference")}>
      <table>
        <thead>
          <tr>
            <th scope="col">{t("circuits.signal")}</th>
            <th scope="col">A: {quantity(cursors[0], scale)}</th>
            <th scope="col">B: {quantity(cursors[1], scale)}</th>
            <th scope="col">
              {t("circuits.difference")}: {quantity(cursors[1] - cursors[0], scale)}
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ signal, number, values: [a, b], unit }) => (
            <tr key={`${signal} ${number}`}>
              <th scope="row">
                <span className="figure-name">
                  <i className="plot-key" data-hue={all.indexOf(signalOf(signal)) % 6} />
                  <span className="mono">{visible(signal)}</span>
                  {drawn.length > 1 && <small>{number}</small>}
                </span>
              </th>
              <td>{shown(a, unit)}</td>
              <td>{shown(b, unit)}</td>
              <td>{shown(a === undefined || b === undefined ? undefined : b - a, unit)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The curves as a table: simulation by simulation, since each may have a scale of its own. */
export function csvOf(drawn: readonly Drawn[], signals: readonly string[]): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const lines = drawn.flatMap(({ number, waveform: { x, rows, scale } }) => [
    [number, scale, ...signals].map(quoted).join(","),
    ...x.map((place, at) => ["", place, ...signals.map((signal) => rows[signal]?.[at] ?? "")].join(",")),
  ]);
  return `${lines.join("\r\n")}\r\n`;
}
