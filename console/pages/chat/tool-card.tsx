import Bot from "icon:bot";
import ChevronRight from "icon:chevron-right";
import CircleCheck from "icon:circle-check";
import CircleDashed from "icon:circle-dashed";
import CirclePause from "icon:circle-pause";
import CircleSlash from "icon:circle-slash";
import CircleX from "icon:circle-x";
import LoaderCircle from "icon:loader-circle";
import { memo, use, useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { CodeBlock } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { Disclosure } from "../../parts/disclosure.tsx";
import { jsonText } from "../../text/json-text.ts";
import { duration } from "../../text/time.ts";
import type { Call } from "../../thread/items.ts";
import { ItemComponent, useCall, useSnapshot } from "./thread-context.tsx";
import { namingOf } from "./tool-names.ts";

const icons: Record<Call["status"], ReactNode> = {
  preparing: <CircleDashed size={16} />,
  waiting: <CirclePause size={16} />,
  running: <LoaderCircle size={16} className="spin" />,
  done: <CircleCheck size={16} />,
  failed: <CircleX size={16} />,
  cut: <CircleSlash size={16} />,
};
/** Lines of a result that are shown at once. */
const firstLines = 20;
const noItems: readonly string[] = [];

/** A call of a tool: what it does, how it is, and on request what it was given and gave. */
export const ToolCard = memo(function ToolCard({ callId }: { callId: string }) {
  const { t } = useTranslation();
  const call = useCall(callId);
  const ItemView = use(ItemComponent);
  const said = useSnapshot(({ thread }) => thread.inside.get(callId) ?? noItems);
  const [isOpen, setOpen] = useState(false);
  if (call === undefined) return null;
  const { verb, subject } = namingOf(call.name, call.args);
  const { agents } = call;
  const isAgent = agents.length > 0 || said.length > 0;
  return (
    <div
      role="group"
      className="tool-card"
      data-status={call.status}
      data-open={isOpen || undefined}
      aria-label={`${call.name} ${subject}`}
    >
      <button type="button" className="tool-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className="tool-icon" title={t(`tool.${call.status}`)}>
          {icons[call.status]}
        </span>
        {isAgent && <Bot size={16} />}
        <span className="tool-verb">
          {agents.map(({ name }) => name).join(", ") || t(`tool.${verb}` as "tool.call")}
        </span>
        <code className="tool-subject">
          {visible(agents.map(({ task }) => task).join(" · ")).slice(0, 300) || subject}
        </code>
        <Duration call={call} />
        <ChevronRight size={15} className="chevron" />
      </button>
      {!isOpen && call.status === "failed" && <p className="tool-error">{visible(firstLine(call.result ?? ""))}</p>}
      {!isOpen && call.status === "running" && call.output !== "" && (
        <p className="tool-output">{visible(lastLine(call.output))}</p>
      )}
      {isOpen && <Body call={call} />}
      {said.length > 0 && (isOpen || call.status === "running") && (
        <div className="agent-stream">
          {said.map((id) => (
            <ItemView key={id} id={id} />
          ))}
        </div>
      )}
    </div>
  );
});

function firstLine(text: string): string {
  return text.split("\n")[0]?.slice(0, 300) ?? "";
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.slice(-300) ?? "";
}

function Body({ call }: { call: Call }) {
  const { t } = useTranslation();
  const args = call.args === undefined ? call.argsText : jsonText(call.args);
  return (
    <div className="tool-body">
      <p className="tool-name">{call.name}</p>
      <Disclosure title={t("tool.arguments")} isOpenAtFirst={call.result === undefined}>
        <CodeBlock text={args} language="json" isOpen={call.status === "preparing"} />
      </Disclosure>
      {call.result !== undefined && <Result text={call.result} isFailed={call.status === "failed"} />}
      {call.result === undefined && call.output !== "" && <Result text={call.output} isFailed={false} />}
      {call.result === undefined && call.output === "" && <p className="hint">{t("tool.noResult")}</p>}
    </div>
  );
}

/** What a call gave: its first lines, and the rest on request. */
function Result({ text, isFailed }: { text: string; isFailed: boolean }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const lines = text.split("\n");
  const shown = isWhole ? text : lines.slice(0, firstLines).join("\n").slice(0, 20_000);
  return (
    <div className="tool-result" data-failed={isFailed || undefined}>
      <p className="tool-label">{isFailed ? t("tool.error") : t("tool.result")}</p>
      <CodeBlock text={visible(shown)} language={/^\s*[[{]/u.test(text) ? "json" : ""} isOpen={false} />
      {shown.length < text.length && (
        <button type="button" className="code-more" onClick={() => setWhole(true)}>
          {lines.length > firstLines ? t("tool.moreLines", { count: lines.length - firstLines }) : t("tool.showAll")}
        </button>
      )}
    </div>
  );
}

/** How long a call took; of one that runs, how long it has been running. */
function Duration({ call: { status, startedAt, endedAt } }: { call: Call }) {
  const isRunning = status === "running";
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!isRunning) return undefined;
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, [isRunning]);
  if (startedAt === undefined) return null;
  const took = (endedAt ?? now) - startedAt;
  return took < 100 ? null : <span className="tool-time">{duration(Math.max(0, took))}</span>;
}
