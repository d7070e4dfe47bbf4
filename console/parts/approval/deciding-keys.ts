import {
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type FocusEvent,
  type RefObject,
} from "react";
import { useCommands, type Command } from "../../app/commands.ts";
import { usePreferences } from "../../app/kept/preferences.ts";

/** Milliseconds in which no key decides about the card that is left when another one goes: it was meant for that one. */
const inertFor = 1_000;

const cards = new Set<RefObject<HTMLElement | null>>();
const listeners = new Set<() => void>();
let leftAt = -inertFor;

/** When the last card has gone. */
export function lastLeft(): number {
  return leftAt;
}

function notifyListeners(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The card that a key is meant for: the one that has the focus, else the only one. */
function isMeant(card: HTMLElement | null): boolean {
  if (card === null || document.querySelector("[role=dialog], [role=menu]") !== null) return false;
  if (card.contains(document.activeElement)) return true;
  return cards.size === 1 && performance.now() - leftAt >= inertFor;
}

/** What a card can do, by its key. */
export type Deciding = Readonly<Record<string, (() => void) | undefined>>;

const nothing: readonly Command[] = [];

/**
 * The keys of a card, from wherever the focus is as long as it is the only card, else while it has the focus. Gives what the
 * card's element needs for it; `data-keys` says that they work.
 */
export function useDecidingKeys(deciding: Deciding | undefined) {
  const card = useRef<HTMLDivElement>(null);
  const id = useId();
  const [hasFocus, setFocus] = useState(false);
  const isOnly = useSyncExternalStore(subscribe, () => cards.size === 1);
  useEffect(() => {
    cards.add(card);
    notifyListeners();
    return () => {
      cards.delete(card);
      notifyListeners();
    };
  }, []);
  // At once: a click may come before the other effects.
  useLayoutEffect(() => () => void (leftAt = performance.now()), []);
  const latest = useRef(deciding);
  useEffect(() => {
    latest.current = deciding;
  });
  const isActive = deciding !== undefined && (isOnly || hasFocus);
  // The list is the same as long as the keys are.
  const names = Object.keys(deciding ?? {})
    .filter((keys) => deciding?.[keys] !== undefined)
    .join(" ");
  useCommands(
    useMemo(
      () =>
        isActive
          ? names.split(" ").map((keys): Command => ({
              id: `${id} ${keys}`,
              group: "here",
              label: keys,
              keys,
              isMeant: () => isMeant(card.current),
              run: () => latest.current?.[keys]?.(),
            }))
          : nothing,
      [id, isActive, names],
    ),
  );
  const { singleKeys } = usePreferences();
  return {
    ref: card,
    onFocus: () => setFocus(true),
    onBlur: ({ currentTarget, relatedTarget }: FocusEvent) => setFocus(currentTarget.contains(relatedTarget)),
    "data-keys": (isActive && singleKeys) || undefined,
  };
}
