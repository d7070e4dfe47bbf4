import { useRef, type ComponentProps, type MouseEvent, type ReactNode } from "react";

/** A button does nothing while a promise that `onClick` has returned is pending. */
type ButtonProps = Omit<ComponentProps<"button">, "onClick"> & {
  onClick?: ((event: MouseEvent<HTMLButtonElement>) => unknown) | undefined;
};

/** Calls `act`, but not while the promise that it returned last is pending: a double click starts something once. */
export function useOnce<Args extends readonly unknown[]>(
  act: ((...args: Args) => unknown) | undefined,
): (...args: Args) => void {
  const isPending = useRef(false);
  return (...args) => {
    if (isPending.current) return;
    const result = act?.(...args);
    if (!(result instanceof Promise)) return;
    isPending.current = true;
    void result.finally(() => {
      isPending.current = false;
    });
  };
}

/** A button with words. `kind` says how much it matters. */
export function Button({
  kind = "plain",
  size = "normal",
  className = "",
  onClick,
  ...rest
}: ButtonProps & { kind?: "plain" | "primary" | "danger" | "quiet"; size?: "normal" | "small" }) {
  const click = useOnce(onClick);
  return (
    <button type="button" {...rest} onClick={click} className={`button button-${kind} button-${size} ${className}`} />
  );
}

/** A button with an icon alone; the page's tooltip shows its label and its key beside it. */
export function IconButton({
  label,
  shortcut = "",
  className = "",
  onClick,
  ...rest
}: ButtonProps & { label: string; shortcut?: string; children: ReactNode }) {
  const click = useOnce(onClick);
  return (
    <button
      type="button"
      aria-label={label}
      {...rest}
      onClick={click}
      data-tooltip={shortcut}
      className={`icon-button ${className}`}
    />
  );
}
