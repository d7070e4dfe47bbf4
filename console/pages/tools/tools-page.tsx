import Wrench from "icon:wrench";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { toolAddress } from "../../app/addresses.ts";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne } from "../list-and-one.tsx";
import { ToolList } from "./tool-list.tsx";
import { ToolView } from "./tool-view.tsx";

/** What the assistant can do: each tool with its arguments, when it asks, and a way to try it. */
export function ToolsPage({ name }: { name: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  return (
    <ListAndOne
      title={t("tools.title")}
      back={toolAddress()}
      isOpen={name !== undefined}
      list={<ToolList current={name} onOpen={(one) => navigate(toolAddress(one))} />}
    >
      {name === undefined ? (
        <Empty icon={<Wrench />} title={t("tools.choose")} hint={t("tools.chooseHint")} />
      ) : (
        <ToolView key={name} name={name} />
      )}
    </ListAndOne>
  );
}
