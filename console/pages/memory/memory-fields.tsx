import { useTranslation } from "react-i18next";
import { memoryKinds, useMemories, type MemoryInput } from "../../api/shaping/memory.ts";
import { manage } from "../../text/manage/words.ts";
import { TextField } from "../forms/create-dialog.tsx";

/** Whether it can be kept: it says something, and an entity also what it is to the user. */
export function isWhole({ kind, slot, content }: MemoryInput): boolean {
  return content.trim() !== "" && (kind !== "entity" || (slot ?? "").trim() !== "");
}

/** The fields of a memory. */
export function MemoryFields({
  memory,
  isReadOnly = false,
  onMemory,
}: {
  memory: MemoryInput;
  isReadOnly?: boolean;
  onMemory: (memory: MemoryInput) => void;
}) {
  const { t } = useTranslation(manage);
  const maxLength = useMemories("").data?.limits.characters;
  const { kind, slot, content } = memory;
  const choose = (next: string) => {
    const chosen = memoryKinds.find((one) => one === next) ?? kind;
    onMemory({ ...memory, kind: chosen, slot: chosen === "entity" ? (slot ?? "") : null });
  };
  return (
    <>
      <label className="field">
        <span>{t("memory.kind")}</span>
        <select className="input" value={kind} disabled={isReadOnly} onChange={({ target }) => choose(target.value)}>
          {memoryKinds.map((one) => (
            <option key={one} value={one}>
              {t(`memory.kindOf.${one}`)}
            </option>
          ))}
        </select>
      </label>
      {kind === "entity" && (
        <TextField
          label={t("memory.slot")}
          placeholder={t("memory.slotExample")}
          value={slot ?? ""}
          isReadOnly={isReadOnly}
          onValue={(next) => onMemory({ ...memory, slot: next })}
        />
      )}
      <label className="field">
        <span>{t("memory.content")}</span>
        <textarea
          className="input"
          rows={4}
          maxLength={maxLength}
          readOnly={isReadOnly}
          value={content}
          onChange={({ target }) => onMemory({ ...memory, content: target.value })}
        />
      </label>
    </>
  );
}
