import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import type { Span } from "../../run/spans.ts";
import { work } from "../../text/inspector/work.ts";

/**
 * What a part of a run is called: in the person's language where the server, and no graph, has named it. `number`: of a model
 * call, where there are several.
 */
export function useSpanTitle({ kind, name }: Pick<Span, "kind" | "name">, callNumber?: number): string {
  const { t } = useTranslation(work);
  const number = /^(?:step|attempt) (?<number>\d+)$/u.exec(name)?.groups?.["number"];
  if (kind === "wait") return t("run.queue");
  if (kind === "step" && number !== undefined) return t("run.step", { step: number });
  if (kind === "retry" && number !== undefined) return t("run.attempt", { number });
  return callNumber === undefined ? visible(name) : `#${callNumber} ${visible(name)}`;
}
