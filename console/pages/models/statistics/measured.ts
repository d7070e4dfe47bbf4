import type { Measure } from "../../../run/model-days.ts";
import { count, money, preciseDuration } from "../../../text/time.ts";

/** A value as it is read. */
export function measured(value: number, measure: Measure): string {
  // Nothing is said where no price is known.
  if (measure === "cost") return value === 0 ? "–" : money(value);
  if (measure === "duration") return value === 0 ? "–" : preciseDuration(value);
  return count(value);
}
