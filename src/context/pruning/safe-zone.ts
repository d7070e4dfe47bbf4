import type { LoopLimits } from "../../state.ts";

const kilo = 1024;
/** A zone beyond this share of the window would be none: there the oldest turns are left out. */
const largestShare = 0.8;

/**
 * The tokens that a conversation may take before old tool results are cleared from the view, of a window of so many: a
 * number, `"80k"` (times 1024), `"1M"` (times 1024 twice), below 1 a share of the window; never more than 80 % of it.
 */
export function safeZoneTokens(zone: LoopLimits["safe_zone"], window: number): number {
  return Math.min(wishedTokens(String(zone), window), Math.floor(window * largestShare));
}

function wishedTokens(zone: string, window: number): number {
  const value = Number.parseFloat(zone);
  const unit = zone.at(-1)?.toLowerCase();
  if (unit === "k") return Math.floor(value * kilo);
  if (unit === "m") return Math.floor(value * kilo * kilo);
  return Math.floor(value < 1 ? value * window : value);
}
