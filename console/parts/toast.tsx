import { useSyncExternalStore } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../api/client.ts";
import { Button } from "./button.tsx";
import { messageOf } from "./states.tsx";

interface Toast {
  id: number;
  text: string;
  kind: "note" | "error";
  action?: { label: string; run: () => void };
}

let toasts: readonly Toast[] = [];
let last = 0;
const listeners = new Set<() => void>();
/** Milliseconds that a note stays; an error stays longer, since it has to be read. */
const stays = { note: 4_000, error: 10_000 };

function change(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

/** Takes a note away. */
export function dismiss(id: number): void {
  change(toasts.filter((toast) => toast.id !== id));
}

/** Shows a note at the edge of the page, for a while. */
export function notify(
  text: string,
  more: Partial<Omit<Toast, "id" | "text">> & { milliseconds?: number } = {},
): number {
  last += 1;
  const { milliseconds, ...rest } = more;
  const toast: Toast = { id: last, text, kind: "note", ...rest };
  change([...toasts.slice(-3), toast]);
  setTimeout(() => dismiss(toast.id), milliseconds ?? stays[toast.kind]);
  return toast.id;
}

/** Shows what went wrong, and what helps. */
export function notifyError(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  const text = messageOf(error);
  const suggestion = error instanceof ApiError ? error.suggestion : undefined;
  notify(suggestion === undefined ? text : `${text} ${suggestion}`, { kind: "error" });
}

/** The notes that are shown now. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => toasts,
  );
  const { t } = useTranslation();
  return (
    <div className="toasts" role="status" aria-live="polite">
      {shown.map(({ id, text, kind, action }) => (
        <div key={id} className={`toast toast-${kind}`} role={kind === "error" ? "alert" : undefined}>
          <span className="toast-text">{text}</span>
          {action && (
            <Button
              size="small"
              kind="quiet"
              onClick={() => {
                action.run();
                dismiss(id);
              }}
            >
              {action.label}
            </Button>
          )}
          <button type="button" className="toast-close" aria-label={t("app.close")} onClick={() => dismiss(id)}>
            ×
          </button>
        </div>
      ))}
    </div>
  );
}
