import { useId, useState, type KeyboardEvent } from "react";
import { isComposing } from "../../app/keys.ts";
import type { Piece, TextLanguage } from "./variables.ts";

const indent = "    ";

/** Writes at the caret of a field so that its own undo knows of it. */
export function insertText(field: HTMLTextAreaElement, text: string, from = field.selectionStart): void {
  field.focus();
  field.setSelectionRange(from, field.selectionEnd);
  // The only way that keeps what can be undone; where a browser has let go of it, the text still comes.
  if (!document.execCommand("insertText", false, text)) {
    field.setRangeText(text, from, field.selectionEnd, "end");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

const plainWords: TextLanguage = {
  pieces: (text) => [{ text, kind: "words" }],
  completions: (_, from) => ({ names: [], from }),
  closing: "",
  completeLabel: "",
};

/** A field for a text whose lines have numbers, whose words are marked, and whose names are completed. */
export function TextEditor({
  value,
  onChange,
  onCaret,
  of: { pieces, completions, closing, completeLabel } = plainWords,
  readOnly,
  label,
  describedBy,
  field,
}: {
  value: string;
  onChange: (next: string) => void;
  /** Where the caret was put. */
  onCaret?: (at: number) => void;
  /** Without one it has words alone. */
  of?: TextLanguage;
  readOnly: boolean;
  label: string;
  describedBy: string;
  field: React.RefObject<HTMLTextAreaElement | null>;
}) {
  const id = useId();
  const [caret, setCaret] = useState<number>();
  const [index, setIndex] = useState(0);
  // Tab goes on to the next control as everywhere, until something is written.
  const [isWriting, setWriting] = useState(false);
  const { names, from } = caret === undefined || readOnly ? { names: [], from: caret ?? 0 } : completions(value, caret);
  const chosen = Math.min(index, names.length - 1);
  const complete = (name: string | undefined) => {
    if (field.current === null || name === undefined) return;
    const isClosed = value[field.current.selectionEnd] === closing;
    insertText(field.current, isClosed ? name : name + closing, from);
    setCaret(undefined);
  };
  const ownKeys: Record<string, () => void> = {
    ArrowDown: () => setIndex((chosen + 1) % names.length),
    ArrowUp: () => setIndex((chosen - 1 + names.length) % names.length),
    Enter: () => complete(names[chosen]),
    Tab: () => complete(names[chosen]),
    Escape: () => setCaret(undefined),
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (isComposing(event.nativeEvent) || readOnly) return;
    const act = names.length > 0 && !event.shiftKey ? ownKeys[event.key] : undefined;
    if (act !== undefined) {
      event.preventDefault();
      event.stopPropagation();
      act();
    } else if (event.key === "Escape") {
      setWriting(false);
    } else if (event.key === "Tab" && !event.shiftKey && isWriting && field.current !== null) {
      event.preventDefault();
      insertText(field.current, indent);
    }
  };
  return (
    <div className="prompt-field">
      <div className="prompt-text">
        <div className="prompt-marks numbered" aria-hidden="true">
          {value.split("\n").map((line, at) => (
            <div key={at}>
              {pieces(line, at).map((piece, place) =>
                piece.kind === "words" ? piece.text : <Mark key={place} piece={piece} />,
              )}
              {"\n"}
            </div>
          ))}
        </div>
        <textarea
          ref={field}
          value={value}
          readOnly={readOnly}
          spellCheck={false}
          aria-label={label}
          aria-describedby={describedBy}
          {...(names.length > 0 && {
            "aria-autocomplete": "list" as const,
            "aria-controls": id,
            "aria-activedescendant": `${id}-${chosen}`,
          })}
          onChange={({ target }) => {
            setWriting(true);
            setIndex(0);
            setCaret(target.selectionEnd);
            onChange(target.value);
          }}
          onKeyDown={onKeyDown}
          onSelect={({ currentTarget }) => onCaret?.(currentTarget.selectionStart)}
          onClick={() => setCaret(undefined)}
          onBlur={() => {
            setWriting(false);
            setCaret(undefined);
          }}
        />
      </div>
      {names.length > 0 && (
        <div className="menu prompt-completion" role="listbox" id={id} aria-label={completeLabel}>
          {names.map((name, place) => (
            <div
              key={name}
              id={`${id}-${place}`}
              role="option"
              tabIndex={-1}
              aria-selected={place === chosen}
              className="menu-item mono"
              data-active-item={place === chosen || undefined}
              // The field keeps the focus.
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => complete(name)}
              onKeyDown={() => undefined}
            >
              {name}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function Mark({ piece: { kind, text } }: { piece: Piece }) {
  return <mark data-kind={kind}>{text}</mark>;
}
