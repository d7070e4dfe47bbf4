import Activity from "icon:activity";
import FilePenLine from "icon:file-pen-line";
import Inbox from "icon:inbox";
import MessageSquare from "icon:message-square";
import Workflow from "icon:workflow";
import { useTranslation } from "react-i18next";

/** Places that are as wide as the window. */
export const widePlace = /^\/(runs|g|prompts|identity)(\/|$)|^\/t\/[^/]+\/run\//u;

/** Where one can go by the rail. */
export function usePlaces(location: string, waiting: number) {
  const { t } = useTranslation();
  return [
    {
      address: "/",
      label: t("app.chats"),
      icon: <MessageSquare size={20} />,
      isHere: location === "/" || (location.startsWith("/t/") && !widePlace.test(location)),
    },
    {
      address: "/inbox",
      label: t("app.inbox"),
      icon: <Inbox size={20} />,
      isHere: location === "/inbox",
      count: waiting,
    },
    {
      address: "/runs",
      label: t("app.runs"),
      icon: <Activity size={20} />,
      isHere: location === "/runs" || /^\/t\/[^/]+\/run\//u.test(location),
    },
    {
      address: "/g",
      label: t("app.graphs"),
      icon: <Workflow size={20} />,
      isHere: location === "/g" || location.startsWith("/g/"),
    },
    {
      address: "/prompts",
      label: t("app.prompts"),
      icon: <FilePenLine size={20} />,
      isHere: /^\/(prompts|identity)(\/|$)/u.test(location),
    },
  ];
}
