/** A measured figure: its name as in goals, its value and its unit. */
export interface Measure {
  name: string;
  value: number;
  unit: string;
}

/** The measure as a list; empty without a value. */
export function measured(name: string, value: number | undefined, unit: string): Measure[] {
  return value === undefined || !Number.isFinite(value) ? [] : [{ name, value, unit }];
}
