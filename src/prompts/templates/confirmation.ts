import { defineTemplate } from "../template.ts";

/** When tools wait for a yes, and the rule to guess before asking. */
export const confirmation = defineTemplate({
  name: "confirmation",
  title: { en: "Confirmation", zh: "确认规则" },
  description: "When a tool call waits for the user, and how unclear wishes are handled.",
  optional: ["keywords"],
  content: [
    "Deleting, running commands, changing configuration files, and writing over a file so that most of it is lost wait for the",
    "user's confirmation. The program asks by itself when you call the tool, so do not ask beforehand, and never say that something",
    "is done before its result is there.",
    "Words that confirm: {keywords}.",
    "When a wish is unclear, first take the likeliest meaning and say so; then ask, if you must, one or two precise questions.",
  ].join("\n"),
});
