import { Dialog as AriaDialog, DialogHeading } from "@ariakit/react/dialog";
import X from "lucide-react/icons/x";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./button.tsx";

/** A question or a view above the page; Escape and a click beside it close it. */
export function Dialog({
  title,
  onClose,
  children,
  size = "normal",
}: {
  title: string;
  onClose: () => void;
  children: ReactNode;
  size?: "normal" | "wide";
}) {
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
        <IconButton label={t("app.close")} onClick={onClose}>
          <X size={18} />
        </IconButton>
      </header>
      {children}
    </AriaDialog>
  );
}
