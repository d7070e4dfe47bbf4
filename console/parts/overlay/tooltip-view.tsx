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
  return (
    <Tooltip store={store} className="tooltip" gutter={6} hideOnHoverOutside={!isFocused} unmountOnHide>
      {anchor.getAttribute("aria-label")}
      {shortcut !== undefined && shortcut !== "" && <kbd>{shortcut}</kbd>}
    </Tooltip>
  );
}
