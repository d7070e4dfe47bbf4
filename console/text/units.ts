/** A length of time in one unit, rounded as it is said. */
export interface InUnit {
  unit: "milliseconds" | "seconds" | "minutes" | "hours";
  value: number;
}

const second = 1_000;
const minute = 60 * second;

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

/** A length of time in the largest unit that it fills. */
export function inOneUnit(milliseconds: number): InUnit {
  const seconds = milliseconds / second;
  if (seconds < 59.5) return { unit: "seconds", value: round(seconds, seconds < 9.95 ? 1 : 0) };
  return { unit: "minutes", value: Math.round(milliseconds / minute) };
}

/** A length of time to the millisecond where that matters; long ones in two units. */
export function inUnits(milliseconds: number): readonly InUnit[] {
  const time = Math.max(0, milliseconds);
  if (time < 999.5) return [{ unit: "milliseconds", value: round(time, time < 10 ? 1 : 0) }];
  if (time < 59_950) return [{ unit: "seconds", value: round(time / second, time < 9_950 ? 2 : 1) }];
  const seconds = Math.round(time / second);
  const minutes = Math.floor(seconds / 60);
  if (minutes >= 60) {
    return [
      { unit: "hours", value: Math.floor(minutes / 60) },
      { unit: "minutes", value: minutes % 60 },
    ];
  }
  return [
    { unit: "minutes", value: minutes },
    { unit: "seconds", value: seconds % 60 },
  ];
}
