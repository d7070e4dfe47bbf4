import { useTranslation } from "react-i18next";
import type { Section } from "../../api/context.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { work } from "../../text/inspector/work.ts";
import { count, percent } from "../../text/time.ts";
import { useSectionName } from "./section-name.ts";

/** The sections of a request, each with its tokens; opened, the exact text of its parts. */
export function SectionList({ sections, limit }: { sections: readonly Section[]; limit: number }) {
  const { t } = useTranslation(work);
  const nameOf = useSectionName();
  return (
    <ul className="channels">
      {sections
        .filter(({ token_count }) => token_count > 0)
        .map((section, index) => (
          <li key={index}>
            <Disclosure title={nameOf(section.name)}>
              {section.content !== null && <LongText text={section.content} label={nameOf(section.name)} />}
              {section.children.length > 0 && <SectionList sections={section.children} limit={limit} />}
            </Disclosure>
            <span className="channel-note">
              {t("context.tokens", { count: section.token_count, tokens: count(section.token_count) })}
              {section.token_count / limit >= 0.005 && <b>{percent(section.token_count / limit)}</b>}
            </span>
          </li>
        ))}
    </ul>
  );
}
