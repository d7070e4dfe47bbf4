import { chatZh } from "./chat/zh.ts";
import { shellZh } from "./shell/zh.ts";

/** The words that the first view has, in Chinese. */
export const zh = { ...shellZh, ...chatZh };
