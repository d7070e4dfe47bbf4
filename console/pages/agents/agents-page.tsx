import Plus from "icon:plus";
import ScrollText from "icon:scroll-text";
import Users from "icon:users";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { useCaller } from "../../api/threads.ts";
import { agentAddress, ruleAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne } from "../list-and-one.tsx";
import { ReadOnly } from "../read-only.tsx";
import { AgentList, AgentView } from "./agents.tsx";
import { NewOwnFile } from "./new-own-file.tsx";
import { RuleList, RuleView } from "./rules.tsx";

/** Files by which work is shared out and kept in order: agents that it is handed to, and rules that hold for it. */
export function AgentsPage({ part, name }: { part: "agents" | "rules"; name?: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const path = new URLSearchParams(useSearch()).get("path") ?? undefined;
  const isOfAgents = part === "agents";
  const mayChange = useCaller().data?.may_administer === true;
  const [isAdding, setAdding] = useState(false);
  const segments = [
    { label: t("agents.agents"), address: agentAddress(), isHere: isOfAgents },
    { label: t("agents.rules"), address: ruleAddress(), isHere: !isOfAgents },
  ];
  return (
    <>
      <ListAndOne
        title={t("agents.title")}
        segments={segments}
        segmentsLabel={t("agents.parts")}
        back={isOfAgents ? agentAddress() : ruleAddress()}
        isOpen={(isOfAgents ? name : path) !== undefined}
        actions={
          mayChange && (
            <Button size="small" onClick={() => setAdding(true)}>
              <Plus size={15} /> {t(isOfAgents ? "agents.addAgent" : "agents.addRule")}
            </Button>
          )
        }
        note={<ReadOnly />}
        list={
          isOfAgents ? (
            <AgentList current={name} onOpen={(one) => navigate(agentAddress(one))} />
          ) : (
            <RuleList current={path} onOpen={(one) => navigate(ruleAddress(one))} />
          )
        }
      >
        {isOfAgents ? (
          name === undefined ? (
            <Empty icon={<Users />} title={t("agents.choose")} hint={t("agents.chooseHint")} />
          ) : (
            <AgentView key={name} name={name} />
          )
        ) : path === undefined ? (
          <Empty icon={<ScrollText />} title={t("agents.chooseRule")} hint={t("agents.chooseRuleHint")} />
        ) : (
          <RuleView key={path} path={path} />
        )}
      </ListAndOne>
      {isAdding && <NewOwnFile kind={part} onClose={() => setAdding(false)} />}
    </>
  );
}
