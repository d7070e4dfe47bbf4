import { useTranslation } from "react-i18next";
import type { Section } from "../../api/context.ts";
import { promptAddress } from "../../app/addresses.ts";
import { usePrompts } from "../../api/shaping/prompts.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { work } from "../../text/inspector/work.ts";
import { count, percent } from "../../text/time.ts";
import { PlaceLink } from "../place-link.tsx";
import { useSectionName } from "./section-name.ts";

/** What a list of sections needs beside them. */
interface ListProps {
  sections: readonly Section[];
  limit: number;
  /** The node that sent the request. */
  node: string;
  /** The section that was asked for last, and how many were before it. */
  wanted?: { name: string; turn: number } | undefined;
}

/** The sections of a request, each with its tokens; opened, the exact text of its parts. */
export function SectionList({ sections, limit, node, wanted }: ListProps) {
  const { t } = useTranslation(work);
  const nameOf = useSectionName();
  return (
    <ul className="channels">
      {sections
        .filter(({ token_count }) => token_count > 0)
        .map((section, index) => (
          <li key={wanted?.name === section.name ? `wanted${wanted.turn}` : index}>
            <Disclosure title={nameOf(section.name)} isOpenAtFirst={wanted?.name === section.name}>
              <PromptOf part={section.name} node={node} />
              {section.content !== null && <LongText text={section.content} label={nameOf(section.name)} />}
              {section.children.length > 0 && <SectionList sections={section.children} limit={limit} node={node} />}
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

/** A link to the text that made a part of the system prompt; nothing for other parts. */
function PromptOf({ part, node }: { part: string; node: string }) {
  const { t } = useTranslation(work);
  if (part === "task") return <TaskPrompt node={node} />;
  return part === "identity" && <PlaceLink address={promptAddress("identity")}>{t("context.editPrompt")}</PlaceLink>;
}

function TaskPrompt({ node }: { node: string }) {
  const { t } = useTranslation(work);
  const template = usePrompts().data?.find(({ nodes }) => nodes.includes(node));
  if (template === undefined) return null;
  return <PlaceLink address={promptAddress("prompt", template.name)}>{t("context.editPrompt")}</PlaceLink>;
}
