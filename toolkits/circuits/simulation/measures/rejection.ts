import type { Response } from "../response.ts";
import { gain } from "./gain.ts";

/**
 * The rejection in decibels at the lowest frequency: gain of the wanted signal over that of another. Common-mode
 * rejection (CMRR) if the other is on both inputs, power supply rejection (PSRR) if it is on the supply.
 */
export function rejection(wanted: Response, other: Response): number | undefined {
  const [first, second] = [gain(wanted), gain(other)];
  return first === undefined || second === undefined ? undefined : first - second;
}
