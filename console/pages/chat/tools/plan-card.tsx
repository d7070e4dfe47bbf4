import CircleCheck from "icon:circle-check";
import CircleDashed from "icon:circle-dashed";
import LoaderCircle from "icon:loader-circle";
import { useTranslation } from "react-i18next";
import { visible } from "../../../markdown/links.ts";
import { isNewestPlan, stepsOf } from "../../../thread/plan.ts";
import { useCall, useSnapshot } from "../thread-context.tsx";
import { ToolCard } from "./tool-card.tsx";

const icons = {
  pending: <CircleDashed size={16} />,
  running: <LoaderCircle size={16} />,
  done: <CircleCheck size={16} />,
};

/** What the assistant means to do, and how far it is; a plan that was written anew later is a line. */
export function PlanCard({ callId }: { callId: string }) {
  const { t } = useTranslation();
  const call = useCall(callId);
  const isNewest = useSnapshot(({ thread }) => isNewestPlan(thread, callId));
  const steps = call && stepsOf(call);
  if (steps === undefined) return <ToolCard callId={callId} />;
  const done = steps.filter(({ state }) => state === "done").length;
  const progress = t("chat.planProgress", { done, total: steps.length });
  if (!isNewest) return <p className="note-line">{`${t("chat.plan")}: ${progress}`}</p>;
  return (
    <section className="tool-card plan-card" aria-label={t("chat.plan")}>
      <p className="row-between">
        <span className="tool-verb">{t("chat.plan")}</span>
        <span className="tool-time">{progress}</span>
      </p>
      <ol className="path-list">
        {steps.map(({ text, state }, index) => (
          <li key={index} data-state={state} aria-current={state === "running" ? "step" : undefined}>
            <span>{visible(text).slice(0, 1_000)}</span>
            <span role="img" aria-label={t(`tool.step.${state}`)}>
              {icons[state]}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}
