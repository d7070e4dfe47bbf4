import { useTranslation } from "react-i18next";
import { useLastCalls } from "../../api/tools.ts";
import { runAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { preciseDuration } from "../../text/time.ts";
import { PlaceLink } from "../place-link.tsx";

/** When the tool was called last, what came of it, and where that was. */
export function LastCalls({ tool }: { tool: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useLastCalls(tool);
  return (
    <section className="prompt-part" aria-label={t("tools.lastCalls")}>
      <h2>{t("tools.lastCalls")}</h2>
      {data === undefined && error === null && <Loading lines={3} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <p className="hint">{t("tools.noCalls")}</p>}
      <ul className="last-calls">
        {data?.map(({ thread_id, call_id, message_id, run_id, status, started_at, duration_ms, message }) => (
          <li key={`${thread_id} ${call_id}`}>
            <p className="filters hint">
              <Ago at={started_at} />
              <b className="chip" data-status={status}>
                {t(`tools.status.${status}`)}
              </b>
              {duration_ms !== null && <span>{preciseDuration(duration_ms)}</span>}
              <PlaceLink address={threadAddress(thread_id)}>{t("files.toChat")}</PlaceLink>
              {run_id !== message_id && (
                <PlaceLink address={runAddress(thread_id, run_id)}>{t("files.toRun")}</PlaceLink>
              )}
            </p>
            {message !== null && <p className="last-call">{visible(message)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
