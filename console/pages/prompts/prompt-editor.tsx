import Search from "icon:search";
import { useId, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { usePrompt, useVerdict, type PromptProblem, type PromptText } from "../../api/shaping/prompts.ts";
import { useCaller, useThreads } from "../../api/threads.ts";
import { useCommands } from "../../app/commands.ts";
import { shownKeys } from "../../app/keys.ts";
import { useSettled } from "../../app/settled.ts";
import { visible } from "../../markdown/links.ts";
import { Button, IconButton } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ChangedElsewhere } from "../changed-elsewhere.tsx";
import { useSaveKey } from "../draft-editor.tsx";
import { FindReplace } from "./find-replace.tsx";
import { titleOf } from "./prompt-list.tsx";
import { Difference, Preview } from "./preview.tsx";
import { usePromptSaving, type Editing } from "./prompt-saving.ts";
import { insertText, TextEditor } from "./text-editor.tsx";
import { completionsAt, lineOf, nearest, piecesOf, renamed, usedIn } from "./variables.ts";

/** One text of the assistant's: read, changed, looked at as a model reads it, and set back. */
export function PromptEditor({ place, draft, onDraft }: Omit<Editing, "prompt">) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = usePrompt(place);
  if (data !== undefined) return <Editor place={place} prompt={data} draft={draft} onDraft={onDraft} />;
  if (error === null) return <Loading lines={8} />;
  const gone = { title: t("prompts.gone"), hint: t("prompts.goneHint") };
  return <Failed error={error} onRetry={() => void refetch()} gone={gone} />;
}

function Editor(editing: Editing) {
  const { place, prompt, draft } = editing;
  const { t } = useTranslation(manage);
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  const [threadId, setThread] = useThreadOfPreview();
  const content = draft?.text ?? prompt.content;
  const { verdict, problems, isUsable } = useChecked(editing, threadId);
  const mayChange = useCaller().data?.may_administer !== false && prompt.editable;
  const saving = usePromptSaving(editing);
  const { isChanged, change } = saving;
  const maySave = mayChange && isUsable && draft !== undefined && !saving.isBusy;
  const [isFinding, setFinding] = useState(false);
  useFindKey(() => setFinding(true));
  const textLanguage = useMemo(
    () => ({
      pieces: (line: string) => piecesOf(line, { all: prompt.variables, required: prompt.required_variables }),
      completions: (text: string, caret: number) => completionsAt(text, caret, prompt.variables),
      closing: "}",
      completeLabel: t("prompts.complete"),
    }),
    [prompt, t],
  );
  const insert = (name: string) => field.current && insertText(field.current, `{${name}}`);
  return (
    <div className="prompt-editor">
      <EditorHead
        prompt={prompt}
        isDraft={draft !== undefined}
        mayChange={mayChange}
        maySave={maySave && !isChanged}
        saving={saving}
        onFind={() => setFinding(true)}
      />
      {isChanged && (
        <ChangedElsewhere
          isGone={false}
          mayKeep={maySave}
          onKeep={() => saving.save(prompt.etag)}
          onTake={saving.drop}
          texts={{ theirs: prompt.content, mine: content }}
        />
      )}
      {!mayChange && <p className="run-note">{t(prompt.editable ? "prompts.readOnly" : "prompts.fixed")}</p>}
      {prompt.source === "fallback" && <p className="problem">{t("prompts.fallback")}</p>}
      {isFinding && (
        <FindReplace value={content} field={field} readOnly={!mayChange} onClose={() => setFinding(false)} />
      )}
      <TextEditor
        value={content}
        onChange={change}
        of={textLanguage}
        readOnly={!mayChange}
        label={t("prompts.text")}
        describedBy={`${id}-problems`}
        field={field}
      />
      <div id={`${id}-problems`} className="prompt-problems" role="status">
        {problems.map((problem, at) => (
          <Problem key={at} problem={problem} content={content} variables={prompt.variables} onChange={change} />
        ))}
        {mayChange && <p className="hint">{t("prompts.leave")}</p>}
        {prompt.format !== null && <p className="hint">{t("prompts.format", { name: prompt.format })}</p>}
      </div>
      <VariableButtons prompt={prompt} content={content} onInsert={mayChange ? insert : undefined} />
      <Preview place={place} verdict={verdict.data} error={verdict.error} threadId={threadId} onThread={setThread} />
      <Difference content={content} builtIn={prompt.default_content} />
    </div>
  );
}

/** The chat whose values the preview has: the newest one until another, or none, is chosen. */
function useThreadOfPreview(): [string | undefined, (threadId: string | undefined) => void] {
  const newest = useThreads({ archived: false }).data?.pages[0]?.threads[0]?.thread_id;
  const [chosen, setChosen] = useState<{ id: string | undefined }>();
  return [chosen === undefined ? newest : chosen.id, (id) => setChosen({ id })];
}

/** What the server says of the text, and whether it can be used. */
function useChecked({ place, prompt, draft }: Editing, threadId: string | undefined) {
  const verdict = useVerdict(place, useSettled(draft?.text) ?? prompt.content, threadId);
  // What is missing in a preview is no fault of the text.
  const problems = (verdict.data?.problems ?? []).filter(({ kind }) => kind !== "missing_value");
  return { verdict, problems, isUsable: !problems.some(({ severity }) => severity === "error") };
}

/** What the text is, and what can be done with it as a whole. */
function EditorHead({
  prompt,
  isDraft,
  mayChange,
  maySave,
  saving,
  onFind,
}: {
  prompt: PromptText;
  /** Whether there is something that is not saved. */
  isDraft: boolean;
  mayChange: boolean;
  maySave: boolean;
  saving: ReturnType<typeof usePromptSaving>;
  onFind: () => void;
}) {
  const { t, i18n } = useTranslation(manage);
  const { isBusy, drop, reset } = saving;
  const [isAsked, setAsked] = useState(false);
  const save = () => saving.save(prompt.etag);
  // What is not saved cannot be brought back.
  const askOrReset = () => (isDraft ? setAsked(true) : void reset());
  useSaveKey(() => maySave && save());
  return (
    <header className="prompt-head">
      <div>
        <h2>{visible(titleOf(prompt.title, i18n.language))}</h2>
        <p className="hint">{visible(prompt.description)}</p>
      </div>
      <div className="filters">
        <IconButton label={t("prompts.findAndReplace")} shortcut={shownKeys("mod+f")} onClick={onFind}>
          <Search size={16} />
        </IconButton>
        {mayChange && (
          <>
            {prompt.source !== "builtin" && (
              <Button size="small" kind="quiet" disabled={isBusy} onClick={askOrReset}>
                {t("prompts.reset")}
              </Button>
            )}
            <Button size="small" disabled={!isDraft || isBusy} onClick={drop}>
              {t("prompts.discard")}
            </Button>
            <Button size="small" kind="primary" disabled={!maySave} onClick={save}>
              {t("prompts.save")} <kbd>{shownKeys("mod+s")}</kbd>
            </Button>
          </>
        )}
      </div>
      {isAsked && (
        <Confirm
          title={t("prompts.resetUnsaved")}
          hint={t("edit.unsavedHint")}
          action={t("prompts.reset")}
          run={reset}
          onClose={() => setAsked(false)}
        />
      )}
    </header>
  );
}

/** `Ctrl F` finds in the text. */
function useFindKey(run: () => void): void {
  const { t } = useTranslation(manage);
  const commands = useMemo(
    () => [{ id: "find", group: "here" as const, label: t("prompts.findAndReplace"), keys: "mod+f", run }],
    [t, run],
  );
  useCommands(commands);
}

function Problem({
  problem: { kind, severity, message, variable },
  content,
  variables,
  onChange,
}: {
  problem: PromptProblem;
  content: string;
  variables: readonly string[];
  onChange: (text: string) => void;
}) {
  const { t, i18n } = useTranslation(manage);
  const key = `prompts.problem.${kind}`;
  const named = variable === undefined ? {} : { variable: `{${variable}}` };
  const words = i18n.exists(key, { ns: manage })
    ? t(`prompts.problem.${kind}` as "prompts.problem.empty", named)
    : message;
  const line = variable === undefined ? undefined : lineOf(content, variable);
  const meant = kind === "unknown_variable" && variable !== undefined ? nearest(variable, variables) : undefined;
  return (
    <p className="prompt-problem" data-severity={severity}>
      {line === undefined ? visible(words) : t("prompts.line", { line, problem: visible(words) })}
      {variable !== undefined && meant !== undefined && (
        <Button size="small" kind="quiet" onClick={() => onChange(renamed(content, variable, meant))}>
          {t("prompts.use", { name: `{${meant}}` })}
        </Button>
      )}
    </p>
  );
}

/** The variables that the text may use; one that is pressed is written at the caret. */
function VariableButtons({
  prompt: { variables, required_variables: required },
  content,
  onInsert,
}: {
  prompt: PromptText;
  content: string;
  onInsert: ((name: string) => void) | undefined;
}) {
  const { t } = useTranslation(manage);
  const used = usedIn(content);
  return (
    <section className="prompt-part" aria-label={t("prompts.variables")}>
      <h2>{t("prompts.variables")}</h2>
      {variables.length === 0 && <p className="hint">{t("prompts.noVariables")}</p>}
      <ul className="filters">
        {variables.map((name) => (
          <li key={name}>
            <button
              type="button"
              className="filter mono"
              data-set={used.has(name) || undefined}
              disabled={onInsert === undefined}
              aria-label={t("prompts.insert", { name })}
              onClick={() => onInsert?.(name)}
            >
              {name}
              {required.includes(name) && <small>{t("prompts.required")}</small>}
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
