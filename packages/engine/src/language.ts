/** The users' languages. Errors are stored in English and translated on display. */
export type Language = "en" | "zh";

/** The language of a user's text: Chinese if it contains a Chinese character. */
export function languageOfWords(words: string): Language {
  return /\p{Script=Han}/u.test(words) ? "zh" : "en";
}
