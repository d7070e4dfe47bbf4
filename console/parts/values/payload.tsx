import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { readPayload } from "../../api/runs/trace.ts";
import { jsonText } from "../../text/json-text.ts";
import { byteSize } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { Button } from "../button.tsx";
import { LongText } from "./json-view.tsx";
import { Failed, Loading } from "../states.tsx";

/** What went into or came out of a part of a run; a large one is read as a whole only on request. */
export function Payload({
  threadId,
  runId,
  spanId,
  side,
}: {
  threadId: string;
  runId: string;
  spanId: string;
  side: "input" | "output";
}) {
  const { t } = useTranslation(work);
  const [isWhole, setWhole] = useState(false);
  const query = useQuery({
    queryKey: ["payload", runId, spanId, side, isWhole],
    queryFn: async ({ signal }) => (await readPayload({ threadId, runId, spanId, side }, isWhole, signal)) ?? null,
  });
  if (query.isPending) return <Loading lines={2} />;
  if (query.error !== null) return <Failed error={query.error} onRetry={() => void query.refetch()} />;
  if (query.data === null) return <p className="hint">{t("run.notKept")}</p>;
  const { text, size } = query.data;
  const isCut = text.length < size && !isWhole;
  return (
    <>
      <LongText text={isCut ? text : pretty(text)} label={t(`run.${side}`)} />
      {isCut && (
        <Button size="small" kind="quiet" onClick={() => setWhole(true)}>
          {t("run.showLarge", { size: byteSize(size) })}
        </Button>
      )}
    </>
  );
}

/** JSON with its lines; anything else as it is. */
function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "string" ? value : jsonText(value);
  } catch {
    return text;
  }
}
