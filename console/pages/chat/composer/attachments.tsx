import X from "icon:x";
import { useRef, useState, type ClipboardEvent, type DragEvent } from "react";
import { useTranslation } from "react-i18next";
import { files, useDraft } from "../../../app/kept/drafts.ts";
import { uploadFile } from "../../../api/uploads.ts";
import { Button } from "../../../parts/button.tsx";
import { Attachments } from "../attachment.tsx";
import { focusAtFirst } from "../../../parts/focus.ts";
import { notifyError } from "../../../parts/toast.tsx";

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

/** Files of this person that come into the workspace: chosen, pasted or dropped. */
export interface Uploads {
  /** How many are under way. */
  count: number;
  start: (files: Iterable<File>) => void;
  /** Of the field: files that are pasted into it are uploaded. */
  onPaste: (event: ClipboardEvent) => void;
  /** Of what files can be dropped on. */
  dropZone: {
    "data-dropping": true | undefined;
    onDragOver: (event: DragEvent) => void;
    onDragLeave: () => void;
    onDrop: (event: DragEvent) => void;
  };
}

type Paths = readonly string[];

/** Files that are attached, which are kept as the text is. */
export function useDraftPaths(threadId: string): [Paths, (change: (now: Paths) => Paths) => void] {
  const [text, setText] = useDraft(threadId + files);
  const pathsOf = (lines: string): Paths => [...new Set(lines.split("\n"))].filter(Boolean);
  return [pathsOf(text), (change) => setText((now) => change(pathsOf(now)).join("\n"))];
}

/** Uploads files; `onAdd` is called with the path of each that is there. */
export function useUploads(onAdd: (path: string) => void): Uploads {
  const [count, setCount] = useState(0);
  const [isDropping, setDropping] = useState(false);
  const start = (files: Iterable<File>) => {
    for (const file of files) {
      setCount((now) => now + 1);
      void uploadFile(file)
        .then(onAdd, notifyError)
        .finally(() => setCount((now) => now - 1));
    }
  };
  const take = (event: ClipboardEvent | DragEvent, from: DataTransfer) => {
    // What is copied of a sheet or a document comes with a picture of it.
    const isText = from.types.includes("text/html") && from.getData("text/plain") !== "";
    if (from.files.length === 0 || isText) return;
    event.preventDefault();
    start([...from.files]);
  };
  return {
    count,
    start,
    onPaste: (event) => take(event, event.clipboardData),
    dropZone: {
      "data-dropping": isDropping || undefined,
      onDragOver: (event) => {
        if (!event.dataTransfer.types.includes("Files")) return;
        event.preventDefault();
        setDropping(true);
      },
      onDragLeave: () => setDropping(false),
      onDrop: (event) => {
        setDropping(false);
        take(event, event.dataTransfer);
      },
    },
  };
}

/** Asks for a file of this person's, or for the path of one of the workspace. */
export function AttachForm({
  onAdd,
  onFiles,
  onClose,
}: {
  onAdd: (path: string) => void;
  onFiles: (files: Iterable<File>) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [path, setPath] = useState("");
  const chooser = useRef<HTMLInputElement>(null);
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
      <input
        ref={chooser}
        type="file"
        multiple
        hidden
        onChange={({ target }) => {
          onFiles([...(target.files ?? [])]);
          onClose();
        }}
      />
      <Button onClick={() => chooser.current?.click()}>{t("chat.upload")}</Button>
      <p className="hint">{t("chat.attachHint")}</p>
    </div>
  );
}
