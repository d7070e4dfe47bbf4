import { useTranslation } from "react-i18next";
import type { StartedRun } from "../../api/runs/all-runs.ts";
import { useEndOf } from "../../api/runs/compared.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { Channels } from "../../parts/values/channels.tsx";
import { work } from "../../text/inspector/work.ts";

/** The states that two runs have left, as far as they differ. */
export function ComparedStates({ left, right }: { left: StartedRun; right: StartedRun }) {
  const { t } = useTranslation(work);
  const [before, after] = [useEndOf(left.thread_id, left.run_id), useEndOf(right.thread_id, right.run_id)];
  const error = before.error ?? after.error;
  const retry = () => void Promise.all([before.refetch(), after.refetch()]);
  return (
    <section className="prompt-part" aria-label={t("compare.states")}>
      <h2>{t("compare.states")}</h2>
      {error !== null ? (
        <Failed error={error} onRetry={retry} />
      ) : before.data === undefined || after.data === undefined ? (
        <Loading lines={4} />
      ) : before.data === null || after.data === null ? (
        <p className="hint">{t("run.noState")}</p>
      ) : (
        <Channels values={after.data} before={before.data} none={t("compare.sameStates")} />
      )}
    </section>
  );
}
