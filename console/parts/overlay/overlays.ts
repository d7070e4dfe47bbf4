import { loadable } from "../loadable.ts";

/**
 * What opens above the page, with the kit that places it and moves the focus. The page is drawn without it: nothing is open
 * when it is loaded.
 */
export const overlays = loadable(() => import("./views.ts"));
