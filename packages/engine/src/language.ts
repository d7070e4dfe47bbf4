/** The languages in which users are spoken to. Errors are stored in English, and put into words when told. */
export type Language = "en" | "zh";

/** The language of a user's own words: Chinese where they have a Chinese character. */
export function languageOfWords(words: string): Language {
  return /\p{Script=Han}/u.test(words) ? "zh" : "en";
}
