import type { Measure } from "../../../run/model-days.ts";
import { count, preciseDuration } from "../../../text/time.ts";

/** A value as it is read. */
export function measured(value: number, measure: Measure): string {
  if (measure === "cost") return money(value);
  if (measure === "duration") return value === 0 ? "–" : preciseDuration(value);
  return count(value);
}

/** What something cost; nothing is said where no price is known. */
export function money(value: number): string {
  if (value === 0) return "–";
  return value < 0.01 ? value.toPrecision(2) : value.toFixed(2);
}
