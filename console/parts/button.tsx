import { Tooltip, TooltipAnchor, TooltipProvider } from "@ariakit/react/tooltip";
import type { ComponentProps, ReactNode } from "react";

/** A button with words. `kind` says how much it matters. */
export function Button({
  kind = "plain",
  size = "normal",
  className = "",
  ...rest
}: ComponentProps<"button"> & { kind?: "plain" | "primary" | "danger" | "quiet"; size?: "normal" | "small" }) {
  return <button type="button" {...rest} className={`button button-${kind} button-${size} ${className}`} />;
}

/** A button with an icon alone; its label is shown beside it after a moment. */
export function IconButton({
  label,
  shortcut,
  children,
  className = "",
  ...rest
}: ComponentProps<"button"> & { label: string; shortcut?: string; children: ReactNode }) {
  return (
    <TooltipProvider timeout={500} placement="bottom">
      <TooltipAnchor
        render={<button type="button" aria-label={label} {...rest} className={`icon-button ${className}`} />}
      >
        {children}
      </TooltipAnchor>
      <Tooltip className="tooltip" gutter={6} unmountOnHide>
        {label}
        {shortcut !== undefined && <kbd>{shortcut}</kbd>}
      </Tooltip>
    </TooltipProvider>
  );
}
