import { defineTemplate } from "../template.ts";

/** System texts of the conversation, written by the client's operator. */
export const sessionInstructions = defineTemplate({
  name: "session_instructions",
  title: { en: "Instructions of the conversation", zh: "会话指令" },
  description: "Stands before the system texts that the conversation was given.",
  required: ["instructions"],
  optional: ["left"],
  content: [
    "For this conversation you were told besides, as far as it does not go against the above:",
    "Of older ones, left out because there were too many: {left}",
    "",
    "{instructions}",
  ].join("\n"),
});
