import ChevronLeft from "icon:chevron-left";
import ChevronRight from "icon:chevron-right";
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { StartedRun } from "../../../api/runs/all-runs.ts";
import { useStateAt, type Snapshot, type useStatesOf } from "../../../api/runs/states.ts";
import { readNextPage } from "../../../api/threads.ts";
import { useCommands, type Command } from "../../../app/commands.ts";
import { visible } from "../../../markdown/links.ts";
import { IconButton } from "../../../parts/button.tsx";
import { NextPage } from "../../../parts/states.tsx";
import { notifyError } from "../../../parts/toast.tsx";
import { work } from "../../../text/inspector/work.ts";
import type { Place } from "../place.ts";

type Go = (changes: Partial<Place>) => void;

/** States as far as they are read, which of them is shown, and the way to the others. */
export interface Checkpoints {
  states: ReturnType<typeof useStatesOf>;
  /** Oldest first. */
  own: readonly Snapshot[];
  at: number;
  shown: Snapshot | undefined;
  /** The one that the address names is not read yet. */
  isFurther: boolean;
  step: (by: number) => () => void;
}

/** Where one is among states, which are read as far back as the checkpoint that is named; without one, at the newest. */
export function useCheckpoints(
  states: Checkpoints["states"],
  checkpoint: string | undefined,
  go: (checkpoint: string) => void,
): Checkpoints {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = states;
  const own = useMemo(() => states.data?.pages.flat().toReversed() ?? [], [states.data]);
  const found = own.findIndex((state) => state.checkpoint.checkpoint_id === checkpoint);
  const at = found < 0 ? own.length - 1 : found;
  const isFurther = checkpoint !== undefined && found < 0 && hasNextPage;
  useEffect(() => {
    if (isFurther && !isFetchingNextPage) void fetchNextPage();
  }, [isFurther, isFetchingNextPage, fetchNextPage]);
  const goTo = (snapshot: Snapshot | undefined): void => {
    const id = snapshot?.checkpoint.checkpoint_id;
    if (id) go(id);
  };
  const step = (by: number) => () => {
    if (at + by >= 0) goTo(own[Math.min(own.length - 1, at + by)]);
    else if (hasNextPage && !isFetchingNextPage) {
      void readNextPage(states).then(({ data }) => goTo(data?.pages.at(-1)?.[0]), notifyError);
    }
  };
  return { states, own, at, shown: own[at], isFurther, step };
}

/** The state before the one that is shown, where it is wanted; that of the run's first one is another run's. */
export function useParent(
  { thread_id }: StartedRun,
  { own, shown }: Checkpoints,
  isWanted: boolean,
): Snapshot | undefined {
  const id = (isWanted && shown?.parent_checkpoint?.checkpoint_id) || undefined;
  const known = own.find(({ checkpoint }) => checkpoint.checkpoint_id === id);
  const before = useStateAt(thread_id, known === undefined ? id : undefined).data;
  return id === undefined ? undefined : (known ?? before);
}

/** The states of a run as a list, and the way from one to the next. */
export function CheckpointList({ checkpoints, go }: { checkpoints: Checkpoints; go: Go }) {
  const { t } = useTranslation(work);
  const { states, own, at } = checkpoints;
  return (
    <nav className="checkpoints" aria-label={t("run.checkpoints")}>
      <div className="row-between">
        <h2>{t("run.checkpoints")}</h2>
        <CheckpointMoves checkpoints={checkpoints} />
      </div>
      <NextPage query={states} label={t("run.older")} />
      <ol>
        {own.map((snapshot, index) => (
          <li key={snapshot.checkpoint.checkpoint_id ?? index}>
            <button
              type="button"
              className="node-row"
              aria-current={index === at || undefined}
              onClick={() => go({ checkpoint: snapshot.checkpoint.checkpoint_id ?? undefined })}
            >
              <span>{nameOf(snapshot, t)}</span>
              <small>{snapshot.next.length > 0 ? `→ ${visible(snapshot.next.join(", "))}` : ""}</small>
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

/** What has made a state. */
export function nameOf({ metadata }: Snapshot, t: ReturnType<typeof useTranslation<typeof work>>["t"]): string {
  const source = metadata?.source;
  if (source === "input" || source === "update" || source === "fork") return t(`run.source.${source}`);
  return t("run.step", { step: metadata?.step ?? "" });
}

/** The way to the state before and after. */
export function CheckpointMoves({ checkpoints: { states, own, at, step } }: { checkpoints: Checkpoints }) {
  const { t } = useTranslation(work);
  useSteps(step(-1), step(1));
  return (
    <span className="checkpoint-moves">
      <IconButton label={t("run.earlier")} shortcut="[" disabled={at <= 0 && !states.hasNextPage} onClick={step(-1)}>
        <ChevronLeft size={16} />
      </IconButton>
      <IconButton label={t("run.later")} shortcut="]" disabled={at === own.length - 1} onClick={step(1)}>
        <ChevronRight size={16} />
      </IconButton>
    </span>
  );
}

/** `[` and `]` go to the checkpoint before and after. */
function useSteps(earlier: () => void, later: () => void): void {
  const { t } = useTranslation(work);
  useCommands(
    useMemo(
      (): Command[] => [
        { id: "earlier", group: "here", label: t("run.earlier"), keys: "[", run: earlier },
        { id: "later", group: "here", label: t("run.later"), keys: "]", run: later },
      ],
      [t, earlier, later],
    ),
  );
}
