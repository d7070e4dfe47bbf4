import { useState } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "../../api/client.ts";
import { deleteOwnFile, saveOwnFile, useOwnFile, useOwnVerdict, type OwnKind } from "../../api/shaping/agents.ts";
import { toolAddress } from "../../app/addresses.ts";
import { useSettled } from "../../app/settled.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Failed, Loading, messageOf } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { DraftEditor, type TextDraft } from "../draft-editor.tsx";
import { PlaceLink } from "../place-link.tsx";

/** The file of a rule or an agent in an editor, with what the server says of it. */
export function OwnFileEditor({
  kind,
  name,
  draft,
  onDraft,
  onSaved,
  onClose,
}: {
  kind: OwnKind;
  name: string;
  draft: TextDraft | undefined;
  onDraft: (draft: TextDraft | undefined) => void;
  /** It was saved, at this path. */
  onSaved: (path: string) => void;
  onClose?: (() => void) | undefined;
}) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useOwnFile(kind, name, true);
  const isGone = error instanceof ApiError && error.status === 404;
  const now = isGone || data === undefined ? undefined : { text: data.text, version: data.etag };
  const verdict = useOwnVerdict(kind, name, useSettled(draft?.text) ?? now?.text ?? "");
  if (data === undefined && error === null) return <Loading lines={6} />;
  if (error !== null && !isGone) return <Failed error={error} onRetry={() => void refetch()} />;
  return (
    <DraftEditor
      label={t("edit.text", { name: visible(name) })}
      now={now}
      draft={draft}
      onDraft={onDraft}
      save={async (next, version) => {
        const { path, etag } = await saveOwnFile(kind, name, next, version);
        onSaved(path);
        return etag;
      }}
      again={refetch}
      onClose={onClose}
      // The server refuses what cannot be used, also where the check of it has not come yet.
      isUsable={verdict.data?.valid !== false}
    >
      {verdict.error !== null && <p className="problem">{visible(messageOf(verdict.error))}</p>}
      {verdict.data?.problems.map(({ severity, message, line }, at) => (
        <p key={at} className="prompt-problem" data-severity={severity}>
          {line === null ? visible(message) : t("prompts.line", { line, problem: visible(message) })}
        </p>
      ))}
      {verdict.data?.valid === true && <TouchedTools kind={kind} tools={verdict.data.tools} />}
    </DraftEditor>
  );
}

/** The tools that a rule is about, or that an agent has. */
export function TouchedTools({ kind, tools }: { kind: OwnKind; tools: readonly string[] | null }) {
  const { t } = useTranslation(manage);
  const isOfRule = kind === "rules";
  return (
    <div className="filters hint touched-tools">
      <span>{t(isOfRule ? "agents.touches" : "agents.tools")}:</span>
      {tools === null && t(isOfRule ? "agents.touchesAll" : "agents.allTools")}
      {tools?.length === 0 && t(isOfRule ? "agents.touchesNone" : "agents.noTools")}
      {tools?.map((tool) => (
        <PlaceLink key={tool} address={toolAddress(tool)}>
          {visible(tool)}
        </PlaceLink>
      ))}
    </div>
  );
}

/** The button that is rid of the file, after a question. */
export function DeleteOwnFile({ kind, name, onGone }: { kind: OwnKind; name: string; onGone: () => void }) {
  const { t } = useTranslation(manage);
  const [isAsked, setAsked] = useState(false);
  const { data } = useOwnFile(kind, name, isAsked);
  return (
    <>
      <Button size="small" kind="quiet" onClick={() => setAsked(true)}>
        {t("edit.delete")}
      </Button>
      {isAsked && data !== undefined && (
        <Confirm
          title={t("files.deleteOne", { name: visible(data.path) })}
          hint={t("agents.deleteHint")}
          action={t("edit.delete")}
          run={async () => {
            await deleteOwnFile(kind, name, data.etag);
            onGone();
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </>
  );
}
