import X from "icon:x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "../../../parts/button.tsx";
import { Attachments } from "../attachment.tsx";
import { focusAtFirst } from "../../../parts/focus.ts";

/** The files that go with a message. */
export function AttachedPaths({ paths, onRemove }: { paths: readonly string[]; onRemove: (path: string) => void }) {
  const { t } = useTranslation();
  return (
    <Attachments
      paths={paths}
      end={(path) => (
        <button type="button" aria-label={t("chat.removeAttachment", { name: path })} onClick={() => onRemove(path)}>
          <X size={14} />
        </button>
      )}
    />
  );
}

/** Asks for the path of a file of the workspace. */
export function AttachForm({ onAdd, onClose }: { onAdd: (path: string) => void; onClose: () => void }) {
  const { t } = useTranslation();
  const [path, setPath] = useState("");
  const add = () => {
    if (path.trim() === "") return;
    onAdd(path.trim());
    onClose();
  };
  return (
    <div className="attach-form">
      <label className="field">
        <span>{t("chat.attachPath")}</span>
        <input
          className="input mono"
          value={path}
          ref={focusAtFirst}
          placeholder="src/main.ts"
          onChange={(event) => setPath(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              event.stopPropagation();
              onClose();
            }
            if (event.key === "Enter" && !event.nativeEvent.isComposing) {
              event.preventDefault();
              add();
            }
          }}
        />
      </label>
      <Button onClick={add} disabled={path.trim() === ""}>
        {t("chat.attachAdd")}
      </Button>
      <p className="hint">{t("chat.attachHint")}</p>
    </div>
  );
}
