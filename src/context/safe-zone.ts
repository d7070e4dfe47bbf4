import type { SafeZone } from "../state.ts";

const kilo = 1024;
/** A zone beyond this share of the window would be none: there the oldest turns are left out (COMP-14). */
const largestShare = 0.8;

/** The tokens that a safe zone stands for in a window of so many tokens (PRUNE-06); never more than 80 % of it. */
export function safeZoneTokens(zone: SafeZone, window: number): number {
  return Math.min(wishedTokens(String(zone), window), Math.floor(window * largestShare));
}

function wishedTokens(zone: string, window: number): number {
  const value = Number.parseFloat(zone);
  const unit = zone.at(-1)?.toLowerCase();
  if (unit === "k") return Math.floor(value * kilo);
  if (unit === "m") return Math.floor(value * kilo * kilo);
  return Math.floor(value < 1 ? value * window : value);
}
