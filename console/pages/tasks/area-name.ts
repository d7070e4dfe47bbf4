import type { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import type { manage } from "../../text/manage/words.ts";

/** What an area is called: the planner knows its id alone, whose beginning tells it from others. */
export function areaName(t: ReturnType<typeof useTranslation<typeof manage>>["t"], area: string): string {
  return t("tasks.areaOf", { id: visible(area.slice(0, 8)) });
}
