import { Menu as AriaMenu, MenuButton, MenuItem, MenuProvider, MenuSeparator } from "@ariakit/react/menu";
import type { ReactNode } from "react";

/** One thing that a menu offers; `"line"` parts it. */
export type MenuEntry =
  | { label: string; icon?: ReactNode; shortcut?: string; danger?: boolean; checked?: boolean; onSelect: () => void }
  | "line"
  | false;

/** A button that opens a list of actions. */
export function Menu({
  label,
  button,
  entries,
  className = "icon-button",
}: {
  label: string;
  button: ReactNode;
  entries: readonly MenuEntry[];
  className?: string;
}) {
  return (
    <MenuProvider placement="bottom-end">
      <MenuButton className={className} aria-label={label} title={label}>
        {button}
      </MenuButton>
      <AriaMenu className="menu" gutter={4} portal unmountOnHide overflowPadding={8}>
        {entries.map((entry, index) => {
          if (entry === false) return null;
          if (entry === "line") return <MenuSeparator key={`line-${index}`} className="menu-line" />;
          return (
            <MenuItem
              key={entry.label}
              className={entry.danger === true ? "menu-item menu-item-danger" : "menu-item"}
              onClick={entry.onSelect}
              aria-current={entry.checked === true ? true : undefined}
            >
              <span className="menu-icon">{entry.icon}</span>
              <span className="menu-label">{entry.label}</span>
              {entry.checked === true && <span aria-hidden="true">✓</span>}
              {entry.shortcut !== undefined && <kbd>{entry.shortcut}</kbd>}
            </MenuItem>
          );
        })}
      </AriaMenu>
    </MenuProvider>
  );
}
