import Bot from "icon:bot";
import ChevronRight from "icon:chevron-right";
import CircleCheck from "icon:circle-check";
import CircleDashed from "icon:circle-dashed";
import CirclePause from "icon:circle-pause";
import CircleSlash from "icon:circle-slash";
import CircleX from "icon:circle-x";
import LoaderCircle from "icon:loader-circle";
import RefreshCw from "icon:refresh-cw";
import type { TFunction } from "i18next";
import { memo, use, useEffect, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useThreadDetails } from "../../../api/threads.ts";
import { useParameters } from "../../../api/tools.ts";
import { CodeBlock } from "../../../markdown/code.tsx";
import { FileLink } from "../../../markdown/file-link.tsx";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Disclosure } from "../../../parts/disclosure.tsx";
import { lazyComponent } from "../../../parts/loadable.ts";
import { jsonText } from "../../../text/json-text.ts";
import { duration } from "../../../text/time.ts";
import { refusalOf } from "../../../thread/endings.ts";
import { isOver, type Call } from "../../../thread/items.ts";
import { ItemComponent, useCall, useOpenThread, useSnapshot } from "../thread-context.tsx";
import { namingOf } from "./tool-names.ts";
import { CallFigure } from "./call-figure.tsx";
import { ToolResult } from "./tool-result.tsx";

const RunToolDialog = lazyComponent(async () => (await import("./run-tool-dialog.tsx")).RunToolDialog);

const icons: Record<Call["status"], ReactNode> = {
  preparing: <CircleDashed size={16} />,
  waiting: <CirclePause size={16} />,
  running: <LoaderCircle size={16} className="spin" />,
  done: <CircleCheck size={16} />,
  failed: <CircleX size={16} />,
  refused: <CircleSlash size={16} />,
  cut: <CircleSlash size={16} />,
};
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
        {call.status === "waiting" && <span className="tool-time">{t("tool.waiting")}</span>}
        <Duration call={call} />
        <ChevronRight size={15} className="chevron" />
      </button>
      {!isOpen && call.status === "failed" && <p className="tool-error">{visible(firstLine(call.result ?? ""))}</p>}
      {call.status === "refused" && <p className="tool-refusal">{refusalWords(t, call.result)}</p>}
      {!isOpen && call.status === "running" && call.output !== "" && (
        <p className="tool-output">{visible(lastLine(call.output))}</p>
      )}
      <CallFigure call={call} />
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

/** A person's or a rule's no, in the words of the page. */
function refusalWords(t: TFunction, result = ""): string {
  const { why, said } = refusalOf(result);
  const words = visible(said.slice(0, 300));
  if (why === "rule") return firstLine(words);
  const what = t(`tool.refusal.${why}`);
  return said === "" ? what : t("tool.refusal.because", { what, said: words });
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.slice(-300) ?? "";
}

function Body({ call }: { call: Call }) {
  const { t } = useTranslation();
  const args = call.args === undefined ? call.argsText : jsonText(call.args);
  const path = pathOf(call);
  const { status } = call;
  return (
    <div className="tool-body">
      <p className="tool-name">
        {call.name} {path !== undefined && <FileLink path={path} />}
      </p>
      <Disclosure title={t("tool.arguments")} isOpenAtFirst={call.result === undefined}>
        <CodeBlock text={args} language="json" isOpen={call.status === "preparing"} />
      </Disclosure>
      {call.result !== undefined && <ToolResult call={call} text={call.result} />}
      {call.result === undefined && call.output !== "" && <ToolResult call={call} text={call.output} />}
      {call.result === undefined && call.output === "" && <p className="hint">{t("tool.noResult")}</p>}
      {(isOver(call) || status === "cut") && call.agents.length === 0 && <RunAgain call={call} />}
    </div>
  );
}

/** Characters up to which a text can be the path of a file. */
const maxPathLength = 1_000;

/** The file that a call is about. */
function pathOf({ name, args }: Call): string | undefined {
  if (/list|search|find|grep/iu.test(name)) return undefined;
  const path = args?.["path"] ?? args?.["file_path"];
  return typeof path === "string" && path !== "" && path.length <= maxPathLength ? path : undefined;
}

/** Offers to make the call once more, where the thread is of this server's assistant and it knows the tool. */
function RunAgain({ call }: { call: Call }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  const isBusy = useSnapshot((snapshot) => snapshot.thread.isBusy || snapshot.approvals.length > 0);
  const isOurs = useThreadDetails(thread.id).data?.graph_id === "agent";
  const { parameters } = useParameters(isOurs ? call.name : null);
  const [isAsked, setAsked] = useState(false);
  if (parameters === undefined) return null;
  return (
    <div className="row-end">
      <Button size="small" disabled={isBusy} onClick={() => setAsked(true)}>
        <RefreshCw size={14} />
        {t("tool.runAgain")}
      </Button>
      {isAsked && <RunToolDialog call={call} parameters={parameters} onClose={() => setAsked(false)} />}
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
