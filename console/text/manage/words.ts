import i18next from "i18next";
import { manageEn } from "./en.ts";
import { manageZh } from "./zh.ts";

/** Adds the words of the pages by which the assistant is shaped; the name is what `useTranslation` is given. */
function addWords(): "manage" {
  i18next.addResourceBundle("en", "manage", manageEn);
  i18next.addResourceBundle("zh", "manage", manageZh);
  return "manage";
}

/** The words of the pages by which the assistant is shaped, for `useTranslation`. */
export const manage = addWords();
