import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { PromptPlace, PromptVerdict } from "../../api/shaping/prompts.ts";
import { useTokens } from "../../api/shaping/prompts.ts";
import { useThreads } from "../../api/threads.ts";
import { visible } from "../../markdown/links.ts";
import { DiffLines } from "../../parts/diff.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { diffOf } from "../../run/state-diff.ts";
import { manage } from "../../text/manage/words.ts";
import { count } from "../../text/time.ts";

/** The text as a model would read it, with the values of a chat. */
export function Preview({
  place,
  verdict,
  error,
  threadId,
  onThread,
}: {
  place: PromptPlace;
  verdict: PromptVerdict | undefined;
  error: unknown;
  threadId: string | undefined;
  onThread: (threadId: string | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const threads = useThreads({ archived: false }).data?.pages.flatMap((page) => page.threads) ?? [];
  const text = verdict?.text ?? "";
  const tokens = useTokens(text).data?.tokens;
  const hasNoValues = threadId !== undefined && verdict !== undefined && verdict.values === null;
  return (
    <section className="prompt-part" aria-label={t("prompts.preview")}>
      <div className="row-between">
        <h2>{t("prompts.preview")}</h2>
        <label className="prompt-thread">
          <span>{t("prompts.previewOf")}</span>
          <select
            className="filter"
            value={threadId ?? ""}
            onChange={({ target }) => onThread(target.value === "" ? undefined : target.value)}
          >
            <option value="">{t("prompts.noThread")}</option>
            {threads.map(({ thread_id, name, preview }) => (
              <option key={thread_id} value={thread_id}>
                {visible((name === "" ? preview : name).slice(0, 80))}
              </option>
            ))}
          </select>
        </label>
      </div>
      {error !== null && verdict === undefined && <Failed error={error} />}
      {error === null && verdict === undefined && <Loading lines={4} />}
      {verdict !== undefined && (
        <>
          {hasNoValues && <p className="hint">{t("prompts.noValues")}</p>}
          <LongText key={place.name} text={text} label={t("prompts.preview")} />
          <p className="hint">
            {t("prompts.size", { characters: count(text.length), tokens: tokens === undefined ? "…" : count(tokens) })}
          </p>
        </>
      )}
    </section>
  );
}

/** How a text differs from the built-in one. */
export function Difference({ content, builtIn }: { content: string; builtIn: string }) {
  const { t } = useTranslation(manage);
  const lines = useMemo(() => diffOf(builtIn.split("\n"), content.split("\n")), [builtIn, content]);
  if (content === builtIn) return null;
  return (
    <section className="prompt-part" aria-label={t("prompts.difference")}>
      <h2>{t("prompts.difference")}</h2>
      <DiffLines lines={lines} />
    </section>
  );
}
