import { riseTime, type Step } from "./step.ts";

/** The output's slope between 10 % and 90 % of a step, in volts per microsecond. */
export function slewRate(step: Step): number | undefined {
  const time = riseTime(step);
  return time === undefined || time === 0 ? undefined : (0.8 * step.height) / time / 1e6;
}
