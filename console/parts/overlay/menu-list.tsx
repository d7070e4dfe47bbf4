import { Menu as AriaMenu, MenuItem, MenuSeparator, useMenuStore } from "@ariakit/react/menu";
import { useLayoutEffect } from "react";
import type { MenuEntry } from "../menu.tsx";

/** What has the focus first in a menu: an end of it, or, for a mouse, the menu itself. */
export type FirstFocus = "first" | "last" | "container";

/** The open list of a menu. */
export function MenuList({
  button,
  label,
  entries,
  firstFocus,
  onClose,
}: {
  button: HTMLElement;
  label: string;
  entries: readonly MenuEntry[];
  firstFocus: FirstFocus;
  onClose: () => void;
}) {
  const store = useMenuStore({
    open: true,
    placement: "bottom-end",
    setOpen: (isOpen) => {
      if (!isOpen) onClose();
    },
  });
  useLayoutEffect(() => {
    store.setAnchorElement(button);
    store.setDisclosureElement(button);
    store.setAutoFocusOnShow(true);
    store.setInitialFocus(firstFocus);
  }, [store, button, firstFocus]);
  return (
    <AriaMenu
      store={store}
      className="menu"
      aria-label={label}
      aria-labelledby={undefined}
      gutter={4}
      portal
      // Within a landmark, and within a dialog what is outside of it is out of reach.
      portalElement={() => button.closest<HTMLElement>("[role=dialog]") ?? document.getElementById("main")}
      preserveTabOrder={false}
      onKeyDown={(event) => {
        // Tab goes on from the button, as if the menu had not been there.
        if (event.key !== "Tab") return;
        button.focus();
        onClose();
      }}
      unmountOnHide
      overflowPadding={8}
    >
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
  );
}
