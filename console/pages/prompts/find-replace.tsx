import ChevronDown from "icon:chevron-down";
import ChevronUp from "icon:chevron-up";
import X from "icon:x";
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { isComposing } from "../../app/keys.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { manage } from "../../text/manage/words.ts";
import { placesOf, replacedAt } from "./found.ts";
import { insertText } from "./text-editor.tsx";
import { useMarks } from "./found-marks.ts";

/** Finds words in the text that is open, and puts others in their place: one after the other, or all at once. */
export function FindReplace({
  value,
  field,
  readOnly,
  onClose,
}: {
  value: string;
  field: RefObject<HTMLTextAreaElement | null>;
  readOnly: boolean;
  onClose: () => void;
}) {
  const { t } = useTranslation(manage);
  const search = useRef<HTMLInputElement>(null);
  const [words, setWords] = useState("");
  const [others, setOthers] = useState("");
  const [at, setAt] = useState(0);
  const places = useMemo(() => placesOf(value, words), [value, words]);
  const here = places.length === 0 ? 0 : at % places.length;
  useMarks(field, places, words.length, here);
  useEffect(() => search.current?.focus(), []);
  const go = (by: number) => places.length > 0 && setAt((here + by + places.length) % places.length);
  /** Writes so that the field's own undo knows of it, and comes back. */
  const write = (from: number, to: number, text: string) => {
    const before = document.activeElement;
    if (field.current === null) return;
    field.current.setSelectionRange(from, to);
    insertText(field.current, text, from);
    if (before instanceof HTMLElement) before.focus();
  };
  const replaceOne = () => {
    const place = places[here];
    if (place === undefined) return;
    write(place, place + words.length, others);
    // What has come in place of them is not looked through again.
    const next = placesOf(value.slice(0, place) + others + value.slice(place + words.length), words);
    setAt(
      Math.max(
        0,
        next.findIndex((one) => one >= place + others.length),
      ),
    );
  };
  const replaceAll = () => {
    if (places.length > 0) write(0, value.length, replacedAt(value, places, words.length, others));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (isComposing(event.nativeEvent)) return;
    if (event.key === "Escape") {
      onClose();
      field.current?.focus();
    } else if (event.key === "Enter" && event.target === search.current) go(event.shiftKey ? -1 : 1);
    else if (event.key === "Enter" && event.target instanceof HTMLInputElement) replaceOne();
    else return;
    event.preventDefault();
  };
  return (
    <div className="filters" role="search" onKeyDown={onKeyDown}>
      <input
        ref={search}
        className="input settings-search"
        value={words}
        aria-label={t("prompts.find")}
        placeholder={t("prompts.find")}
        onChange={({ target }) => {
          setWords(target.value);
          setAt(0);
        }}
      />
      <span className="hint" role="status">
        {words !== "" && t("prompts.place", { at: places.length === 0 ? 0 : here + 1, total: places.length })}
      </span>
      <IconButton label={t("prompts.former")} disabled={places.length < 2} onClick={() => go(-1)}>
        <ChevronUp size={16} />
      </IconButton>
      <IconButton label={t("prompts.next")} disabled={places.length < 2} onClick={() => go(1)}>
        <ChevronDown size={16} />
      </IconButton>
      {!readOnly && (
        <>
          <input
            className="input settings-search"
            value={others}
            aria-label={t("prompts.replaceWith")}
            placeholder={t("prompts.replaceWith")}
            onChange={({ target }) => setOthers(target.value)}
          />
          <Button size="small" disabled={places.length === 0} onClick={replaceOne}>
            {t("prompts.replace")}
          </Button>
          <Button size="small" disabled={places.length === 0} onClick={replaceAll}>
            {t("prompts.replaceAll")}
          </Button>
        </>
      )}
      <IconButton label={t("prompts.endFind")} onClick={onClose}>
        <X size={16} />
      </IconButton>
    </div>
  );
}
