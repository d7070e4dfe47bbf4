import { defineTemplate } from "../template.ts";

/** Rules of the user as a model reads them. */
export const userRules = defineTemplate({
  name: "user_rules",
  title: { en: "Rules of the user", zh: "用户规则" },
  description: "The rules that the user has written for their project.",
  required: ["rules"],
  content: ["The user has written these rules for the project. Follow them wherever they apply.", "", "{rules}"].join(
    "\n",
  ),
});

/** The assistant's acknowledgement, which makes the pair a valid exchange. */
export const userRulesRead = defineTemplate({
  name: "user_rules_read",
  title: { en: "Rules of the user: acknowledgement", zh: "用户规则：确认" },
  description: "The answer of the pair.",
  content: "I have read the rules and will follow them.",
});
