import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { work } from "../../text/inspector/work.ts";

/** How a section of a request is called in the reader's language; one that is not known, as the server calls it. */
export function useSectionName(): (name: string) => string {
  const { t } = useTranslation(work);
  const names: Record<string, string> = {
    system_prompt: t("context.system"),
    documentation: t("context.documentation"),
    implicit_context: t("context.implicit"),
    tools: t("context.tools"),
    message_history: t("context.history"),
  };
  return (name) => names[name] ?? visible(name);
}

/** How the one who wrote a message is called in the reader's language. */
export function useRoleName(): (role: string) => string {
  const { t } = useTranslation(work);
  const names: Record<string, string> = {
    user: t("context.user"),
    assistant: t("context.assistant"),
    tool: t("context.tool"),
    system: t("context.systemText"),
  };
  return (role) => names[role] ?? visible(role);
}
