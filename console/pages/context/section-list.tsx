import { useTranslation } from "react-i18next";
import * as z from "zod/mini";
import type { Section } from "../../api/context.ts";
import { useStartedRun } from "../../api/runs/all-runs.ts";
import { usePrompts } from "../../api/shaping/prompts.ts";
import { useToolkits } from "../../api/tools.ts";
import { promptAddress } from "../../app/addresses.ts";
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
  /** The node that sent the request, and its run. */
  call: { threadId: string; runId: string; node: string };
  /** The section that was asked for last, and how many were before it. */
  wanted?: { name: string; turn: number } | undefined;
}

/** The sections of a request, each with its tokens; opened, the exact text of its parts. */
export function SectionList({ sections, limit, call, wanted }: ListProps) {
  const { t } = useTranslation(work);
  const nameOf = useSectionName();
  return (
    <ul className="channels">
      {sections
        .filter(({ token_count }) => token_count > 0)
        .map((section, index) => (
          <li key={wanted?.name === section.name ? `wanted${wanted.turn}` : index}>
            <Disclosure title={nameOf(section.name)} isOpenAtFirst={wanted?.name === section.name}>
              <PromptOf part={section.name} call={call} />
              {section.content !== null && <LongText text={section.content} label={nameOf(section.name)} />}
              {section.children.length > 0 && <SectionList sections={section.children} limit={limit} call={call} />}
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
function PromptOf({ part, call }: Pick<ListProps, "call"> & { part: string }) {
  if (part === "task") return <TaskPrompt node={call.node} />;
  return part === "identity" && <IdentityPrompt {...call} />;
}

const Chosen = z.object({ profile: z.nullish(z.string()), toolkits: z.nullish(z.array(z.string())) });

/** The identity is that of the run's profile, else of a toolkit that it names. Where neither is known, all are listed. */
function IdentityPrompt({ threadId, runId }: ListProps["call"]) {
  const { t, i18n } = useTranslation(work);
  const run = useStartedRun(threadId, runId).data;
  const toolkits = useToolkits(i18n.language).data;
  const chosen = z.safeParse(Chosen, run?.kwargs.context ?? {}).data;
  const named = chosen?.toolkits?.map((name) => toolkits?.find((one) => one.name === name)?.identity).find(Boolean);
  const isKnown = run !== undefined && toolkits !== undefined;
  const profile = isKnown ? (chosen?.profile ?? named ?? "general") : undefined;
  return <PlaceLink address={promptAddress("identity", profile)}>{t("context.editPrompt")}</PlaceLink>;
}

function TaskPrompt({ node }: { node: string }) {
  const { t } = useTranslation(work);
  const template = usePrompts().data?.find(({ nodes }) => nodes.includes(node));
  if (template === undefined) return null;
  return <PlaceLink address={promptAddress("prompt", template.name)}>{t("context.editPrompt")}</PlaceLink>;
}
