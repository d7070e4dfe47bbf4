import { useSyncExternalStore } from "react";

/** What screen readers announce; `number` makes the same words twice two announcements. */
interface Announcement {
  number: number;
  text: string;
}
/** `assertive` interrupts what is being read. */
type Urgency = "polite" | "assertive";

const nothing: Readonly<Record<Urgency, Announcement>> = {
  polite: { number: 0, text: "" },
  assertive: { number: 0, text: "" },
};
let announced = nothing;
const listeners = new Set<() => void>();
/** Milliseconds after which a text that has been taken up stands nowhere any more: it stands in the page already. */
const stays = 1_000;

function change(urgency: Urgency, next: Announcement): void {
  announced = { ...announced, [urgency]: next };
  for (const listener of listeners) listener();
}

/** Tells readers of the screen what others see. */
export function announce(text: string, urgency: Urgency = "polite"): void {
  const number = announced[urgency].number + 1;
  change(urgency, { number, text });
  setTimeout(() => {
    if (announced[urgency].number === number) change(urgency, { number, text: "" });
  }, stays);
}

/** Where announcements stand for a moment. */
export function Announcer() {
  const { polite, assertive } = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => announced,
  );
  return (
    <div className="visually-hidden">
      <div aria-live="polite">
        <p key={polite.number}>{polite.text}</p>
      </div>
      <div aria-live="assertive">
        <p key={assertive.number}>{assertive.text}</p>
      </div>
    </div>
  );
}
