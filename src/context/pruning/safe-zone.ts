import type { LoopLimits } from "../../state.ts";

const kilo = 1024;
/** Above this share of the window the oldest turns are left out anyway. */
const maxShare = 0.8;

/**
 * Tokens above which old tool results are cleared: a number, `"80k"` (times 1024), `"1M"` (times 1024²), or below 1 a
 * share of the window; at most 80 % of it.
 */
export function safeZoneTokens(zone: LoopLimits["safe_zone"], window: number): number {
  return Math.min(parseTokens(String(zone), window), Math.floor(window * maxShare));
}

function parseTokens(zone: string, window: number): number {
  const value = Number.parseFloat(zone);
  const unit = zone.at(-1)?.toLowerCase();
  if (unit === "k") return Math.floor(value * kilo);
  if (unit === "m") return Math.floor(value * kilo * kilo);
  return Math.floor(value < 1 ? value * window : value);
}
