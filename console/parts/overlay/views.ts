export { DialogView } from "./dialog-view.tsx";
export { MenuList } from "./menu-list.tsx";
export { TooltipView } from "./tooltip-view.tsx";
