import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { ApiError } from "../../api/client.ts";
import { useCompressionPreview, type CompressionMessage } from "../../api/context.ts";
import type { Compression } from "../../api/runs/runs.ts";
import { forkThread } from "../../api/threads.ts";
import { threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { plainLine } from "../../markdown/plain-line.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { work } from "../../text/inspector/work.ts";
import { count, percent } from "../../text/time.ts";
import { useRoleName } from "./section-name.ts";

/** How many of the last messages may stay. */
const counts = Array.from({ length: 16 }, (_, index) => index + 5);
const usual = 10;

/** Lets a summary stand for older messages, after a look at what it would stand for and what it saves. */
export function CompressDialog({
  threadId,
  run,
  onClose,
}: {
  threadId: string;
  /** Has it done. */
  run: (how: Compression) => Promise<void>;
  onClose: () => void;
}) {
  const { t } = useTranslation(work);
  const [, navigate] = useLocation();
  const roleOf = useRoleName();
  const [keep, setKeep] = useState(usual);
  const [kept, setKept] = useState<readonly CompressionMessage[]>([]);
  const [isBusy, setBusy] = useState(false);
  const request = { keep_recent: keep, keep_message_ids: kept.flatMap(({ id }) => id ?? []) };
  const { data, error, refetch, isPlaceholderData } = useCompressionPreview(threadId, request);
  const perform = (act: () => Promise<void>) => {
    setBusy(true);
    void act()
      .catch(notifyError)
      .finally(() => setBusy(false));
  };
  const isKept = (message: CompressionMessage) => kept.some(({ id }) => id === message.id);
  const toggle = (message: CompressionMessage) =>
    setKept(isKept(message) ? kept.filter(({ id }) => id !== message.id) : [...kept, message]);
  return (
    <Dialog title={t("context.compress")} onClose={onClose}>
      <div className="dialog-body schema-form">
        <p className="hint">{t("context.compressHint")}</p>
        <label className="field">
          <span>{t("context.keep")}</span>
          <select className="input" value={keep} onChange={({ target }) => setKeep(Number(target.value))}>
            {counts.map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
        {data === undefined && error === null && <Loading lines={4} />}
        {error !== null &&
          (isNothingToDo(error) ? (
            <p role="status">{error.message}</p>
          ) : (
            <Failed error={error} onRetry={() => void refetch()} />
          ))}
        {data !== undefined && error === null && (
          <>
            <p role="status">
              {t("context.saves", {
                count: data.compressible.length,
                before: count(data.usage.tokens),
                after: count(data.predicted.tokens),
              })}
              <small className="hint">
                {" "}
                {t("context.effect", {
                  count: data.message_count,
                  now: percent(data.usage.ratio),
                  after: percent(data.predicted.ratio),
                  summary: count(data.predicted.summary_tokens),
                })}
              </small>
            </p>
            <MessageChoice
              messages={[...kept, ...data.compressible.filter((one) => !isKept(one))]}
              isKept={isKept}
              onToggle={toggle}
            />
            <Disclosure title={t("context.staying", { count: data.kept.length })}>
              <ul>
                {data.kept.map((message, index) => (
                  <li key={message.id ?? index} className="hint">
                    {roleOf(message.role)}: {plainLine(visible(message.preview))}
                  </li>
                ))}
              </ul>
            </Disclosure>
            <h2 className="hint">{t("context.summary")}</h2>
            <LongText text={textOf(data.summary)} label={t("context.summary")} />
          </>
        )}
        <div className="row-end">
          <Button
            size="small"
            disabled={isBusy}
            onClick={() => perform(async () => navigate(threadAddress(await forkThread(threadId))))}
          >
            {t("context.copyFirst")}
          </Button>
          <Button
            size="small"
            kind="primary"
            disabled={isBusy || data === undefined || error !== null || isPlaceholderData}
            onClick={() =>
              perform(async () => {
                await run(request);
                onClose();
              })
            }
          >
            {t("context.compress")}
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** The chat is too short, or its graph keeps no summary: nothing has failed. */
function isNothingToDo(error: Error): boolean {
  return error instanceof ApiError && error.status === 409;
}

/** What a summary says, part by part. */
function textOf(summary: Readonly<Record<string, string | readonly string[]>>): string {
  return visible(
    Object.values(summary)
      .flat()
      .filter((part) => part !== "")
      .join("\n"),
  );
}

/** The messages that the summary would stand for; one that is marked stays as it is. */
function MessageChoice({
  messages,
  isKept,
  onToggle,
}: {
  messages: readonly CompressionMessage[];
  isKept: (message: CompressionMessage) => boolean;
  onToggle: (message: CompressionMessage) => void;
}) {
  const { t } = useTranslation(work);
  const roleOf = useRoleName();
  return (
    <ul className="settings" aria-label={t("context.standsFor")}>
      {messages.map((message, index) => (
        <li key={message.id ?? index}>
          <label className="check">
            <input
              type="checkbox"
              disabled={message.id === null}
              checked={message.id !== null && isKept(message)}
              onChange={() => onToggle(message)}
            />
            <span>
              {plainLine(visible(message.preview)) || roleOf(message.role)}
              <small className="hint">
                {" "}
                {roleOf(message.role)} · {t("context.tokens", { count: message.tokens, tokens: count(message.tokens) })}
              </small>
            </span>
          </label>
        </li>
      ))}
    </ul>
  );
}
