import { Tooltip, useTooltipStore } from "@ariakit/react/tooltip";
import { useLayoutEffect } from "react";

/** What a control is called, and its key, beside it. `isFocused`: it stays while the focus does, wherever the mouse is. */
export function TooltipView({
  anchor,
  isFocused,
  onClose,
}: {
  anchor: HTMLElement;
  isFocused: boolean;
  onClose: () => void;
}) {
  const store = useTooltipStore({
    open: true,
    placement: "bottom",
    setOpen: (isOpen) => {
      if (!isOpen) onClose();
    },
  });
  useLayoutEffect(() => store.setAnchorElement(anchor), [store, anchor]);
  const shortcut = anchor.dataset["tooltip"];
  // All that a page says lies in a landmark: the dialog of the control, or the page's main part.
  const landmark = anchor.closest<HTMLElement>("[role=dialog]") ?? document.querySelector("main");
  return (
    <Tooltip
      store={store}
      className="tooltip"
      gutter={6}
      hideOnHoverOutside={!isFocused}
      unmountOnHide
      fixed
      portalElement={landmark}
    >
      {anchor.getAttribute("aria-label")}
      {shortcut !== undefined && shortcut !== "" && <kbd>{shortcut}</kbd>}
    </Tooltip>
  );
}
