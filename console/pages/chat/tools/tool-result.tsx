import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useWholeResult } from "../../../api/results.ts";
import { readNextPage } from "../../../api/threads.ts";
import { CodeBlock } from "../../../markdown/code.tsx";
import { visible } from "../../../markdown/links.ts";
import { Failed, Loading } from "../../../parts/states.tsx";
import { count } from "../../../text/time.ts";
import type { Call } from "../../../thread/items.ts";
import { useOpenThread } from "../thread-context.tsx";

/** Lines of a result that are shown at once. */
const firstLines = 20;
const firstCharacters = 20_000;

/** What a call gave: its first lines, and the rest on request, also what the model was not given. */
export function ToolResult({ call, text }: { call: Call; text: string }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const [isAsked, setAsked] = useState(false);
  const isFailed = call.status === "failed";
  const label = isFailed ? "tool.error" : call.status === "refused" ? "tool.sentToModel" : "tool.result";
  const lines = text.split("\n");
  const shown = isWhole ? text : lines.slice(0, firstLines).join("\n").slice(0, firstCharacters);
  const { whole } = call;
  return (
    <div className="tool-result" data-failed={isFailed || undefined}>
      <p className="tool-label">{t(label)}</p>
      {isAsked && whole !== undefined ? (
        <WholeResult id={whole.id} />
      ) : (
        <CodeBlock text={visible(shown)} language={languageOf(text)} isOpen={false} />
      )}
      {!isAsked && shown.length < text.length && (
        <button type="button" className="code-more" onClick={() => setWhole(true)}>
          {lines.length > firstLines ? t("tool.moreLines", { count: lines.length - firstLines }) : t("tool.showAll")}
        </button>
      )}
      {!isAsked && whole !== undefined && (
        <button type="button" className="code-more" onClick={() => setAsked(true)}>
          {t("tool.whole", { characters: count(whole.characters) })}
        </button>
      )}
    </div>
  );
}

function languageOf(text: string): string {
  return /^\s*[[{]/u.test(text) ? "json" : "";
}

/** All that the server keeps of a result. */
function WholeResult({ id }: { id: string }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const query = useWholeResult(thread.id, id);
  const { data, error, isPending, hasNextPage, isFetching, refetch } = query;
  const text = data?.pages.map(({ content }) => content).join("") ?? "";
  return (
    <>
      {isPending && <Loading lines={4} />}
      {error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && <CodeBlock text={visible(text)} language={languageOf(text)} isOpen={false} />}
      {hasNextPage && (
        <button type="button" className="code-more" disabled={isFetching} onClick={() => void readNextPage(query)}>
          {t("threads.loadMore")}
        </button>
      )}
    </>
  );
}
