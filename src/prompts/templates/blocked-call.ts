import { defineTemplate } from "../template.ts";

/** The model's note about a blocked call. */
export const blockedCall = defineTemplate({
  name: "blocked_call",
  title: { en: "Blocked call", zh: "被阻止的调用" },
  description: "Why a tool call was not run, and what to do instead.",
  required: ["reason"],
  optional: ["suggestions"],
  content: ["This call was not run: {reason}", "{suggestions}"].join("\n"),
});
