import { Dialog as AriaDialog, DialogHeading } from "@ariakit/react/dialog";
import X from "icon:x";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";

/** What a dialog shows. */
export interface DialogProps {
  title: string;
  onClose: () => void;
  children: ReactNode;
  size?: "normal" | "wide";
}

/** An open dialog. */
export function DialogView({ title, onClose, children, size = "normal" }: DialogProps) {
  const { t } = useTranslation();
  return (
    <AriaDialog
      open
      onClose={onClose}
      className={`dialog dialog-${size}`}
      backdrop={<div className="backdrop" />}
      unmountOnHide
    >
      <header className="dialog-head">
        <DialogHeading className="dialog-title">{title}</DialogHeading>
        {/* It has the focus first: with a tooltip, the first Escape would close that and not the dialog. */}
        <button type="button" className="icon-button" aria-label={t("app.close")} onClick={onClose}>
          <X size={18} />
        </button>
      </header>
      {children}
    </AriaDialog>
  );
}
