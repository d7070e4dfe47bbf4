import { defineTemplate } from "../template.ts";

/** When calls need approval, and the rule to assume before asking. */
export const confirmation = defineTemplate({
  name: "confirmation",
  title: { en: "Confirmation", zh: "确认规则" },
  description: "When a tool call waits for the user, and how unclear wishes are handled.",
  optional: ["keywords"],
  content: [
    "The program asks the user before it deletes, runs commands, changes configuration files or overwrites most of a file. Call the",
    "tool without asking; report a result only when you have it. Words that confirm: {keywords}.",
    "If a request is unclear, take the likeliest meaning and say so; ask two precise questions at most.",
  ].join("\n"),
});
