import type { DialogProps } from "./overlay/dialog-view.tsx";
import { overlays } from "./overlay/overlays.ts";

/** A question or a view above the page; Escape and a click beside it close it. */
export function Dialog(props: DialogProps) {
  const views = overlays.useModule(true);
  return views && <views.DialogView {...props} />;
}
