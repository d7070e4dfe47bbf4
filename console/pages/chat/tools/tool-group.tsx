import ChevronRight from "icon:chevron-right";
import Layers from "icon:layers";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { planTool } from "../../../thread/plan.ts";
import { PlanCard } from "./plan-card.tsx";
import { ToolCard } from "./tool-card.tsx";
import { useSnapshot } from "../thread-context.tsx";

/** Finished calls of one message from which on they are shown as one line. */
const groupedFrom = 4;

/** The calls that an assistant made together. */
export function ToolGroup({ calls }: { calls: readonly string[] }) {
  const { t } = useTranslation();
  const [isOpen, setOpen] = useState(false);
  const isOver = useSnapshot(({ thread }) => calls.every((id) => thread.calls.get(id)?.status === "done"));
  // A plan is not one call among others.
  const planned = useSnapshot(({ thread }) => calls.find((id) => thread.calls.get(id)?.name === planTool));
  if (planned !== undefined) {
    const others = calls.filter((id) => id !== planned);
    return (
      <>
        <PlanCard callId={planned} />
        {others.length > 0 && <ToolGroup calls={others} />}
      </>
    );
  }
  if (calls.length < groupedFrom || !isOver) return <Cards calls={calls} />;
  return (
    <div className="tool-group" data-open={isOpen || undefined}>
      <button type="button" className="tool-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Layers size={16} />
        <span className="tool-verb">{t("tool.group", { count: calls.length })}</span>
        <ChevronRight size={15} className="chevron" />
      </button>
      {isOpen && <Cards calls={calls} />}
    </div>
  );
}

function Cards({ calls }: { calls: readonly string[] }) {
  return (
    <div className="tool-cards">
      {calls.map((id) => (
        <ToolCard key={id} callId={id} />
      ))}
    </div>
  );
}
