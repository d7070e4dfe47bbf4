import type { Plot } from "../raw-file.ts";
import { vectorOf } from "../response.ts";
import type { Source } from "../deck/sources.ts";

/** The power delivered by all voltage sources at the operating point, in watts. */
export function power(plot: Plot, sources: readonly Source[]): number | undefined {
  const supplies = sources.filter(({ kind }) => kind === "voltage");
  const given = supplies.flatMap(({ name, plus, minus }) => {
    const current = vectorOf(plot, `i(${name})`)?.real[0];
    return current === undefined ? [] : [-current * (levelOf(plot, plus) - levelOf(plot, minus))];
  });
  return given.length === 0 ? undefined : given.reduce((sum, one) => sum + one, 0);
}

function levelOf(plot: Plot, node: string): number {
  return node === "0" || node === "gnd" ? 0 : (vectorOf(plot, `v(${node})`)?.real[0] ?? 0);
}
