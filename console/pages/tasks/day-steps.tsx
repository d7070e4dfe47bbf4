import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import { useSearchParams } from "wouter";
import { withParams } from "../../app/addresses.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { dayAfter, isDay } from "../../run/model-days.ts";

/** The day that the address asks for, and the way to another one. */
export function useShownDay(today: string): [shown: string, go: (day: string | undefined) => void] {
  const [params, setParams] = useSearchParams();
  const asked = params.get("day");
  const go = (day: string | undefined): void =>
    setParams((before) => withParams(before, { day: day === today ? undefined : day }));
  return [isDay(asked) ? asked : today, go];
}

/** The steps to the days before and after, and back to now. */
export function DaySteps({
  title,
  labels: [before, after, now],
  shown,
  step,
  isNow,
  onGo,
}: {
  title: string;
  labels: readonly [before: string, after: string, now: string];
  shown: string;
  /** Days of a step. */
  step: number;
  isNow: boolean;
  /** Without a day: now. */
  onGo: (day: string | undefined) => void;
}) {
  return (
    <div className="filters">
      <IconButton label={before} onClick={() => onGo(dayAfter(shown, -step))}>
        <ChevronLeft size={18} />
      </IconButton>
      <span>{title}</span>
      <IconButton label={after} onClick={() => onGo(dayAfter(shown, step))}>
        <ChevronRight size={18} />
      </IconButton>
      {!isNow && (
        <Button size="small" onClick={() => onGo(undefined)}>
          {now}
        </Button>
      )}
    </div>
  );
}
