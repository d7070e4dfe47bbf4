import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { setRequestLanguage } from "../api/client.ts";
import { en } from "./en.ts";
import type { workEn } from "./inspector/en.ts";
import type { manageEn } from "./manage/en.ts";

/** The languages of the console, by the names that speakers call them. */
export const languages = { en: "English", zh: "中文" } as const;
/** One of them. */
export type LanguageName = keyof typeof languages;

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "translation";
    resources: { translation: typeof en; work: typeof workEn; manage: typeof manageEn };
  }
}

/** Begins with a language; one that is not English is loaded first. */
export async function startLanguage(name: LanguageName): Promise<void> {
  await i18next.use(initReactI18next).init({
    lng: "en",
    fallbackLng: "en",
    resources: { en: { translation: en } },
    // React shows texts as texts.
    interpolation: { escapeValue: false },
  });
  await switchLanguage(name);
}

/** Switches the page, its `lang` and the server's answers to a language. */
export async function switchLanguage(name: LanguageName): Promise<void> {
  if (name === "zh" && !i18next.hasResourceBundle("zh", "translation")) {
    const { zh } = await import("./zh.ts");
    i18next.addResourceBundle("zh", "translation", zh);
  }
  document.documentElement.lang = name === "zh" ? "zh-CN" : "en";
  setRequestLanguage(name);
  await i18next.changeLanguage(name);
}

/** The locale of dates and numbers. */
export function currentLocale(): string {
  return i18next.language === "zh" ? "zh-CN" : "en";
}
