import CircleHelp from "icon:circle-question-mark";
import Lock from "icon:lock";
import ShieldAlert from "icon:shield-alert";
import * as z from "zod/mini";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { answerApproval, type Decision } from "../../api/approvals.ts";
import { ApiError } from "../../api/client.ts";
import type { Approval } from "../../api/shapes.ts";
import { visible } from "../../markdown/links.ts";
import { Ago } from "../values/ago.tsx";
import { longTime, preciseDuration } from "../../text/time.ts";
import { Button } from "../button.tsx";
import { lazyComponent } from "../loadable.ts";
import { Loading } from "../states.tsx";
import { notify, notifyError } from "../toast.tsx";
import { Words } from "../words.tsx";
import { EffectView } from "./effect.tsx";
import { AnswerForm, RejectForm } from "./forms.tsx";
import { lastLeft, useDecidingKeys, type Deciding } from "./deciding-keys.ts";
import { RememberForm } from "./grants.tsx";

const EditForm = lazyComponent(async () => (await import("./edit-form.tsx")).EditForm, <Loading />);

/**
 * Milliseconds in which a button does nothing that has just appeared, or beside which a card has just gone: it may have moved
 * under the pointer.
 */
const inertFor = 300;

type Mode = "choose" | "edit" | "reject" | "remember";

/**
 * A question to a person: what would be done, and the ways to answer. `onAnswered` also when another person was
 * faster.
 */
export function ApprovalCard({
  approval,
  onAnswered,
  onLater,
  isDeferred = false,
  head,
}: {
  approval: Approval;
  onAnswered: () => void;
  /** Defers the approval, or restores it if `isDeferred`. */
  onLater?: () => void;
  isDeferred?: boolean;
  head?: ReactNode;
}) {
  const { t } = useTranslation();
  const [mode, setMode] = useState<Mode>("choose");
  const [isSending, setSending] = useState(false);
  const [showsAll, setShowsAll] = useState(false);
  const { isReady, makeReady } = useReady();
  const isAction = approval.tool !== null;
  const takes = new Set(approval.allowed_decisions);
  const answer = async (decision: Decision) => {
    if (isSending || !isReady()) return;
    setSending(true);
    try {
      const { repeated } = await answerApproval(approval, decision);
      if (repeated) notify(t("approval.answeredElsewhere"));
      onAnswered();
    } catch (error) {
      const status = error instanceof ApiError ? error.status : undefined;
      if (status === 409) notify(t("approval.changed"), { kind: "error" });
      else if (status === 404) notify(t("approval.answeredElsewhere"));
      else notifyError(error);
      if (status === 409 || status === 404) onAnswered();
      setSending(false);
    }
  };
  const approve = () => void answer({ type: "approve" });
  const toggle = () => setShowsAll(!showsAll);
  const keys = useDecidingKeys(
    mode === "choose" ? { ...decidingOf(approval, approve, setMode), v: toggle, l: onLater } : undefined,
  );
  return (
    <div
      role="group"
      className="approval-card"
      aria-label={isAction ? t("approval.title") : t("approval.question")}
      tabIndex={0}
      {...keys}
      // What is sent after something was entered here is meant, however new the card is.
      onInput={makeReady}
      data-approval={approval.id}
    >
      {head}
      <header className="approval-head">
        {isAction ? <ShieldAlert size={18} /> : <CircleHelp size={18} />}
        <h2>
          <Words text={approval.question ?? (isAction ? t("approval.title") : t("approval.question"))} />
        </h2>
        <Times approval={approval} />
      </header>
      {approval.kind === "chain_confirm" && <Locked approval={approval} />}
      {isAction && <EffectView approval={approval} isWhole={showsAll} onToggle={toggle} />}
      {mode === "edit" && (
        <EditForm
          approval={approval}
          isSending={isSending}
          onCancel={() => setMode("choose")}
          onSend={(args) => void answer({ type: "edit", args })}
        />
      )}
      {mode === "reject" && (
        <RejectForm
          onCancel={() => setMode("choose")}
          onSend={(message) => void answer({ type: "reject", ...(message !== "" && { message }) })}
        />
      )}
      {mode === "remember" && (
        <RememberForm
          approval={approval}
          onCancel={() => setMode("choose")}
          onSend={(path_pattern) =>
            void answer({ type: "approve", remember: { tool: approval.tool ?? "", path_pattern } })
          }
        />
      )}
      {mode === "choose" && !isAction && (takes.has("answer") || takes.has("respond")) && (
        <AnswerForm approval={approval} isSending={isSending} onSend={(decision) => void answer(decision)} />
      )}
      {mode === "choose" && (
        <Buttons
          approval={approval}
          isSending={isSending}
          onApprove={approve}
          onMode={setMode}
          onLater={onLater}
          isDeferred={isDeferred}
        />
      )}
    </div>
  );
}

/** The keys of the answers that an approval takes. */
function decidingOf(
  { allowed_decisions, tool }: Approval,
  approve: () => void,
  choose: (mode: Mode) => void,
): Deciding {
  const takes = new Set(allowed_decisions);
  return {
    a: takes.has("approve") ? approve : undefined,
    e: takes.has("edit") && tool !== null ? () => choose("edit") : undefined,
    r: takes.has("reject") ? () => choose("reject") : undefined,
  };
}

/** The ways to answer that are a button, each with its key. */
function Buttons({
  approval,
  isSending,
  onApprove,
  onMode,
  onLater,
  isDeferred,
}: {
  approval: Approval;
  isSending: boolean;
  onApprove: () => void;
  onMode: (mode: Mode) => void;
  onLater: (() => void) | undefined;
  isDeferred: boolean;
}) {
  const { t } = useTranslation();
  const takes = new Set(approval.allowed_decisions);
  return (
    <div className="approval-buttons">
      {takes.has("approve") && (
        <Button kind="primary" disabled={isSending} onClick={onApprove}>
          {t(approval.kind === "chain_confirm" ? "approval.unlock" : "approval.approve")} <kbd>a</kbd>
        </Button>
      )}
      {takes.has("edit") && approval.tool !== null && (
        <Button disabled={isSending} onClick={() => onMode("edit")}>
          {t("approval.edit")} <kbd>e</kbd>
        </Button>
      )}
      {takes.has("reject") && (
        <Button disabled={isSending} onClick={() => onMode("reject")}>
          {t("approval.reject")} <kbd>r</kbd>
        </Button>
      )}
      {approval.may_remember && (
        <Button kind="quiet" disabled={isSending} onClick={() => onMode("remember")}>
          {t("approval.rememberShort")}…
        </Button>
      )}
      {onLater && (
        <Button kind="quiet" onClick={onLater}>
          {t(isDeferred ? "approval.bringBack" : "approval.later")} <kbd>l</kbd>
        </Button>
      )}
    </div>
  );
}

const Keywords = z.looseObject({ keywords: z.array(z.string()) });

/** Says that a message runs one tool by itself, and the words that let another one run. */
function Locked({ approval: { tool, value } }: { approval: Approval }) {
  const { t } = useTranslation();
  const words = z.safeParse(Keywords, value).data?.keywords ?? [];
  return (
    <p className="locked-tool">
      <Lock size={15} />
      {t("approval.locked", { tool: visible(tool ?? "") })}
      {words.slice(0, 4).map((word) => (
        <code key={word}>{visible(word)}</code>
      ))}
    </p>
  );
}

/** Whether the card has been in its place long enough for a click to be meant; after `makeReady` it always has. */
function useReady(): { isReady: () => boolean; makeReady: () => void } {
  const since = useRef(0);
  const isEntered = useRef(false);
  useEffect(() => {
    since.current = performance.now();
  }, []);
  return {
    isReady: () => isEntered.current || performance.now() - Math.max(since.current, lastLeft()) >= inertFor,
    makeReady: () => {
      isEntered.current = true;
    },
  };
}

function Times({ approval: { asked_at, expires_at } }: { approval: Approval }) {
  return (
    <span className="approval-times">
      <Ago at={asked_at} />
      {expires_at !== null && <TimeLeft until={expires_at} />}
    </span>
  );
}

const minute = 60_000;

/** How long there is to answer: without an answer by then it is a no. It runs down by the second in its last hour. */
function TimeLeft({ until }: { until: string }) {
  const { t } = useTranslation();
  const [now, setNow] = useState(() => Date.now());
  const left = Date.parse(until) - now;
  const pause = left > 60 * minute ? minute : 1_000;
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), pause);
    return () => clearInterval(timer);
  }, [pause]);
  return (
    <time dateTime={until} title={longTime(until)} className={left < 5 * minute ? "effect-final" : ""}>
      {left > 0
        ? t("approval.left", { time: preciseDuration(Math.ceil(left / pause) * pause) })
        : t("approval.timeIsUp")}
    </time>
  );
}
