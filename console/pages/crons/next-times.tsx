import { useTranslation } from "react-i18next";
import { manage } from "../../text/manage/words.ts";
import { weekdayTime } from "../../text/time.ts";

/** When it is due next, in the zone of the browser. */
export function NextTimes({ dates }: { dates: readonly Date[] }) {
  const { t } = useTranslation(manage);
  if (dates.length === 0) return <p>{t("crons.never")}</p>;
  return (
    <ol className="hint">
      {dates.map((date) => (
        <li key={date.getTime()}>
          <time dateTime={date.toISOString()}>{weekdayTime(date.getTime())}</time>
        </li>
      ))}
    </ol>
  );
}
