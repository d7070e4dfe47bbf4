import type { Response } from "../response.ts";
import { gain } from "./gain.ts";

/**
 * By how much the wanted signal is amplified more than another, at the lowest frequency, in decibels: the common-mode rejection
 * (CMRR) where the other is what both inputs have in common, the power supply rejection (PSRR) where it is on the supply.
 */
export function rejection(wanted: Response, other: Response): number | undefined {
  const [first, second] = [gain(wanted), gain(other)];
  return first === undefined || second === undefined ? undefined : first - second;
}
