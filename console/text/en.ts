import { chatEn } from "./chat/en.ts";
import { shellEn } from "./shell/en.ts";

/** The words that the first view has, in English. Pages that are opened later bring their own. */
export const en = { ...shellEn, ...chatEn } as const;
