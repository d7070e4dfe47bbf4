import { monitorEventLoopDelay } from "node:perf_hooks";

/** What measures how late the event loop is, in nanoseconds. */
type DelaySource = Pick<
  ReturnType<typeof monitorEventLoopDelay>,
  "count" | "percentile" | "reset" | "enable" | "disable"
>;

/** Seconds by which the event loop was late, by the share of times that it was no later. */
export type Late = Readonly<Record<(typeof quantiles)[number], number>>;

const quantiles = ["0.5", "0.99", "1"] as const;

/** How late the event loop is, for readers that do not know of each other. */
export interface LoopDelay {
  /** Since this was asked last, for the one that collects metrics. */
  collected(): Late;
  /** In the last minute or two, for those who look, however many they are. */
  looked(): Late;
  /** Stops measuring. */
  close(): void;
}

/** Milliseconds between two samples. */
const resolution = 20;
/** The shortest time that is looked at, in milliseconds. */
const minute = 60_000;

/** Measures from the first question of each kind on; `open` and `now` are those of a test. */
export function createLoopDelay(
  open: () => DelaySource = () => monitorEventLoopDelay({ resolution }),
  now: () => number = Date.now,
): LoopDelay {
  const opened: DelaySource[] = [];
  const begin = (): DelaySource => {
    const source = open();
    source.enable();
    opened.push(source);
    return source;
  };
  let collecting: DelaySource | undefined;
  let looking: { source: DelaySource; since: number; before: Late } | undefined;
  return {
    collected() {
      collecting ??= begin();
      const late = lateBy(collecting);
      collecting.reset();
      return late;
    },
    looked() {
      looking ??= { source: begin(), since: now(), before: none };
      const { source, before } = looking;
      const late = lateBy(source);
      if (now() - looking.since >= minute) {
        source.reset();
        looking = { source, since: now(), before: late };
      }
      return quantileValues((quantile) => Math.max(late[quantile], before[quantile]));
    },
    close() {
      for (const source of opened) source.disable();
    },
  };
}

function quantileValues(valueOf: (quantile: (typeof quantiles)[number]) => number): Late {
  return { "0.5": valueOf("0.5"), "0.99": valueOf("0.99"), "1": valueOf("1") };
}

const none = quantileValues(() => 0);

function lateBy(source: DelaySource): Late {
  // An empty one has no percentiles.
  return source.count === 0 ? none : quantileValues((quantile) => source.percentile(Number(quantile) * 100) / 1e9);
}
