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

/** A button with an icon alone; the page's tooltip shows its label and its key beside it. */
export function IconButton({
  label,
  shortcut = "",
  className = "",
  ...rest
}: ComponentProps<"button"> & { label: string; shortcut?: string; children: ReactNode }) {
  return (
    <button type="button" aria-label={label} {...rest} data-tooltip={shortcut} className={`icon-button ${className}`} />
  );
}
