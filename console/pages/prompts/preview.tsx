import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { PromptPlace, PromptVerdict } from "../../api/shaping/prompts.ts";
import { useTokens } from "../../api/shaping/prompts.ts";
import { DiffLines } from "../../parts/diff.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { diffOf } from "../../run/state-diff.ts";
import { manage } from "../../text/manage/words.ts";
import { count } from "../../text/time.ts";
import { ThreadChoice } from "../thread-choice.tsx";

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
  const text = verdict?.text ?? "";
  const tokens = useTokens(text).data?.tokens;
  const hasNoValues = threadId !== undefined && verdict !== undefined && verdict.values === null;
  return (
    <section className="prompt-part" aria-label={t("prompts.preview")}>
      <div className="row-between">
        <h2>{t("prompts.preview")}</h2>
        <ThreadChoice
          label={t("prompts.previewOf")}
          none={t("prompts.noThread")}
          threadId={threadId}
          onThread={onThread}
        />
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
