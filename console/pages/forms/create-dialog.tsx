import { useState, type ReactNode } from "react";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { focusAtFirst } from "../../parts/focus.ts";
import { messageOf } from "../../parts/states.tsx";

/** A form for something new, in a dialog: why it was refused is said below what was written, which stays. */
export function CreateDialog({
  title,
  busy = title,
  isWhole,
  make,
  onClose,
  children,
}: {
  /** What the dialog and its button are called. */
  title: string;
  /** What the button is called while it is being made. */
  busy?: string;
  /** Whether there is enough to make it of. */
  isWhole: boolean;
  /** Makes it, and goes there. */
  make: () => Promise<void>;
  onClose: () => void;
  /** The fields. */
  children: ReactNode;
}) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    try {
      await make();
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        className="dialog-body schema-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (isWhole && !isBusy) void submit();
        }}
      >
        {children}
        {problem !== undefined && (
          <p className="problem" role="alert">
            {problem}
          </p>
        )}
        <div className="row-end">
          <Button type="submit" kind="primary" disabled={!isWhole || isBusy}>
            {isBusy ? busy : title}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** A line of text in a form. */
export function TextField({
  label,
  value,
  onValue,
  placeholder,
  type = "text",
  isReadOnly = false,
  isWanted = false,
}: {
  label: string;
  value: string;
  onValue: (value: string) => void;
  placeholder?: string;
  type?: "text" | "url" | "password";
  isReadOnly?: boolean;
  /** It was opened to write in it, so it has the focus. */
  isWanted?: boolean;
}) {
  return (
    <label className="field">
      <span>{label}</span>
      <input
        className="input mono"
        type={type}
        spellCheck={false}
        autoComplete="off"
        placeholder={placeholder}
        readOnly={isReadOnly}
        ref={isWanted ? focusAtFirst : undefined}
        value={value}
        onChange={({ target }) => onValue(target.value)}
      />
    </label>
  );
}
