import { useTranslation } from "react-i18next";
import { useOllama, useOllamaRunning } from "../../api/shaping/models.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { byteSize, longTime } from "../../text/time.ts";
import { Commands } from "../commands.tsx";
import { Facts } from "../facts.tsx";

/** The commands that bring models which are good to begin with. */
export function RecommendedModels({
  models,
}: {
  models: readonly { name: string; about: string; command: string; is_installed: boolean }[];
}) {
  const { t } = useTranslation(manage);
  return (
    <Commands
      commands={models.map(({ name, about, command, is_installed }) => ({
        command,
        about: is_installed ? `${about} (${t("ollama.isInstalled")})` : about,
        label: t("model.copy", { name }),
      }))}
    />
  );
}

/** A local Ollama: how it is, its models, those that are in memory, and those that can be pulled. */
export function OllamaView() {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useOllama(true);
  const running = useOllamaRunning();
  if (data === undefined) {
    return error === null ? <Loading lines={4} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const { state, all, recommended } = data;
  const look = () => Promise.all([refetch(), running.refetch()]);
  return (
    <>
      <p>
        {visible(state.message)} {state.suggestion !== null && visible(state.suggestion)}
      </p>
      <div>
        <Button size="small" onClick={() => void look()}>
          {t("model.lookAgain")}
        </Button>
      </div>
      <FactsOr
        empty={t("ollama.noModels")}
        title={t("ollama.installed")}
        rows={all.map(({ title, can_chat }) => [visible(title), can_chat ? "" : t("ollama.noChat")])}
      />
      <FactsOr
        empty={t("ollama.noneRuns")}
        title={t("ollama.running")}
        rows={(running.data ?? []).map(({ name, size, size_vram, expires_at }) => [
          visible(name),
          [
            t("ollama.memory", { all: byteSize(size), card: byteSize(size_vram) }),
            expires_at === null ? "" : t("ollama.until", { time: longTime(expires_at) }),
          ]
            .filter((part) => part !== "")
            .join(" · "),
        ])}
      />
      <section className="prompt-part" aria-label={t("ollama.recommended")}>
        <h2>{t("ollama.recommended")}</h2>
        <RecommendedModels models={recommended} />
      </section>
    </>
  );
}

/** What is known, or that there is nothing. */
function FactsOr({
  empty,
  title,
  rows,
}: {
  empty: string;
  title: string;
  rows: readonly (readonly [string, string])[];
}) {
  if (rows.length > 0) return <Facts title={title} rows={rows} />;
  return (
    <section className="prompt-part" aria-label={title}>
      <h2>{title}</h2>
      <p className="hint">{empty}</p>
    </section>
  );
}
