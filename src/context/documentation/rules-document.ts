import { userRules, userRulesRead } from "../../prompts/templates/user-rules.ts";
import type { RuleSource } from "../../user-rules/rule-folders.ts";
import { rulesText, selectRules } from "../../user-rules/select-rules.ts";
import type { DocumentSource } from "./documentation.ts";

/** The kind that agents may get alone. */
export const rulesKind = "rules";

/** The user's rules for the relevant files, as documentation. */
export function rulesDocument(source: RuleSource): DocumentSource {
  return {
    kind: rulesKind,
    point: "rules",
    load() {
      const { rules, warnings } = source.load();
      return {
        kind: rulesKind,
        count: rules.length,
        problems: warnings.length,
        render({ files, before, prompts }) {
          const selected = selectRules(rules, files);
          const known = before === undefined ? undefined : selectRules(rules, before).applied;
          const text =
            known === undefined
              ? rulesText(selected)
              : rulesText({ applied: selected.applied.filter((rule) => !known.includes(rule)), others: [] });
          if (text === "") return null;
          return { text: prompts.text(userRules, { rules: text }), acknowledgement: prompts.text(userRulesRead, {}) };
        },
      };
    },
  };
}
