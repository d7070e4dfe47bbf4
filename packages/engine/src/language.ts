/** The languages in which users are spoken to. Errors and questions are stored in English, and put into words when told. */
export type Language = "en" | "zh";
