import { useState, type ReactNode } from "react";
import type { FirstFocus } from "./overlay/menu-list.tsx";
import { overlays } from "./overlay/overlays.ts";

/** One thing that a menu offers; `"line"` parts it. */
export type MenuEntry =
  | { label: string; icon?: ReactNode; shortcut?: string; danger?: boolean; checked?: boolean; onSelect: () => void }
  | "line"
  | false;

/** Keys that open a menu, and the end of it that has the focus then. */
const opening: Readonly<Record<string, FirstFocus>> = { ArrowDown: "first", ArrowUp: "last" };

/** A button that opens a list of actions. Only an open list costs more than a button: pages have hundreds of them. */
export function Menu({
  label,
  button,
  entries,
  className = "icon-button",
  isStop = true,
}: {
  label: string;
  button: ReactNode;
  entries: readonly MenuEntry[];
  className?: string;
  /** Whether Tab stops at the button. */
  isStop?: boolean;
}) {
  const [element, setElement] = useState<HTMLButtonElement | null>(null);
  const [firstFocus, setFirstFocus] = useState<FirstFocus>();
  const isOpen = firstFocus !== undefined;
  const views = overlays.useModule(isOpen);
  return (
    <>
      <button
        type="button"
        ref={setElement}
        className={className}
        tabIndex={isStop ? 0 : -1}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onPointerEnter={overlays.ahead}
        onFocus={overlays.ahead}
        onClick={(event) => setFirstFocus(isOpen ? undefined : event.detail === 0 ? "first" : "container")}
        onKeyDown={(event) => {
          const end = opening[event.key];
          if (end === undefined) return;
          event.preventDefault();
          setFirstFocus(end);
        }}
      >
        {button}
      </button>
      {isOpen && views !== undefined && element !== null && (
        <views.MenuList
          button={element}
          label={label}
          entries={entries}
          firstFocus={firstFocus}
          onClose={() => setFirstFocus(undefined)}
        />
      )}
    </>
  );
}
