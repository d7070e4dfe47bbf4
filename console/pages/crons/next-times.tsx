import { useTranslation } from "react-i18next";
import { manage } from "../../text/manage/words.ts";
import { weekdayTime } from "../../text/time.ts";

/** When it is due next, in the zone of the browser. */
export function NextTimes({ dates }: { dates: readonly string[] }) {
  const { t } = useTranslation(manage);
  if (dates.length === 0) return <p>{t("crons.never")}</p>;
  return (
    <ol className="hint">
      {dates.map((date) => (
        <li key={date}>
          <time dateTime={date}>{weekdayTime(Date.parse(date))}</time>
        </li>
      ))}
    </ol>
  );
}
