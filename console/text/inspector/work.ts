import i18next from "i18next";
import { workEn } from "./en.ts";
import { workZh } from "./zh.ts";

/** Adds the words of the pages for runs and graphs to those that are known; the name is what `useTranslation` is given. */
function addWords(): "work" {
  i18next.addResourceBundle("en", "work", workEn);
  i18next.addResourceBundle("zh", "work", workZh);
  return "work";
}

/** The words of the pages for runs and graphs, for `useTranslation`. */
export const work = addWords();
