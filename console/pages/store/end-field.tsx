import { useTranslation } from "react-i18next";
import { manage } from "../../text/manage/words.ts";

/** Maximum minutes that the server accepts. */
const maxMinutes = 4_000_000_000;

/** The minutes that were written, `null` for ever; `undefined`: it is no such number. */
export function minutesOf(written: string): number | null | undefined {
  if (written.trim() === "") return null;
  const minutes = Number(written);
  return minutes > 0 && minutes <= maxMinutes ? minutes : undefined;
}

/** How long an item stays after it was last written or read by a program. */
export function EndField({
  written,
  empty,
  onWritten,
}: {
  written: string;
  /** What is so where nothing is written. */
  empty: string;
  onWritten: (written: string) => void;
}) {
  const { t } = useTranslation(manage);
  return (
    <label className="field">
      <span>{t("store.minutes")}</span>
      <input
        className="input"
        inputMode="decimal"
        placeholder={empty}
        aria-invalid={minutesOf(written) === undefined}
        value={written}
        onChange={({ target }) => onWritten(target.value)}
      />
    </label>
  );
}
