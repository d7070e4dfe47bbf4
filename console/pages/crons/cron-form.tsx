import { useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { useNextDates, type CronFields } from "../../api/shaping/crons.ts";
import { JsonInput } from "../../form/fields.tsx";
import { Button } from "../../parts/button.tsx";
import { messageOf } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { NextTimes } from "./next-times.tsx";
import { rhythmWords } from "./rhythm-words.ts";

/** A moment as a field for one writes it, in the zone of the browser. */
function localMoment(iso: string | null): string {
  if (iso === null) return "";
  const at = new Date(iso);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** When runs are started, and with what; what is written is said in words and dates at once. */
export function CronForm({
  first,
  hasThread,
  action,
  onSave,
  onClose,
}: {
  first: CronFields;
  /** Whether its runs share a thread. */
  hasThread: boolean;
  /** The words of the button that saves. */
  action: string;
  onSave: (fields: CronFields) => Promise<void>;
  onClose: () => void;
}) {
  const { t } = useTranslation(manage);
  const [fields, setFields] = useState(first);
  const [wrong, setWrong] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const change = (changes: Partial<CronFields>) => setFields({ ...fields, ...changes });
  const { data: dates } = useNextDates(fields);
  const isWhole = dates !== null && dates?.length !== 0 && wrong === undefined && !isBusy;
  const save = async () => {
    setBusy(true);
    try {
      await onSave({ ...fields, timezone: fields.timezone === "" ? null : fields.timezone });
    } catch (error) {
      setProblem(messageOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="shaping-form schema-form"
      aria-label={t("crons.title")}
      onSubmit={(event) => {
        event.preventDefault();
        if (isWhole) void save();
      }}
    >
      <TimeFields fields={fields} hasThread={hasThread} onChange={change} />
      <div className="hint" role="status">
        {dates === null ? (
          <p className="prompt-problem" data-severity="error">
            {t("crons.unreadable")}
          </p>
        ) : (
          <>
            <p>{t("crons.scheduleHint")}</p>
            <p>{rhythmWords(t, fields.schedule)}</p>
            {dates !== undefined && <NextTimes dates={dates.slice(0, 3)} />}
          </>
        )}
      </div>
      <div className="cron-input">
        <JsonInput
          label={t("crons.input")}
          rows={5}
          value={fields.input}
          onValue={(input, said) => {
            setWrong(said);
            change({ input });
          }}
        />
      </div>
      {problem !== undefined && (
        <p className="problem cron-input" role="alert">
          {problem}
        </p>
      )}
      <div className="row-end">
        <Button size="small" onClick={onClose}>
          {t("prompts.discard")}
        </Button>
        <Button size="small" kind="primary" type="submit" disabled={!isWhole}>
          {action}
        </Button>
      </div>
    </form>
  );
}

/** When it is due, until when, and what becomes of its chats. */
function TimeFields({
  fields,
  hasThread,
  onChange,
}: {
  fields: CronFields;
  hasThread: boolean;
  onChange: (changes: Partial<CronFields>) => void;
}) {
  const { t } = useTranslation(manage);
  const zones = useId();
  return (
    <>
      <label className="field">
        <span>{t("crons.schedule")}</span>
        <input
          className="input mono"
          spellCheck={false}
          value={fields.schedule}
          onChange={({ target }) => onChange({ schedule: target.value })}
        />
      </label>
      <label className="field">
        <span>{t("crons.zone")}</span>
        <input
          className="input"
          list={zones}
          placeholder="UTC"
          spellCheck={false}
          value={fields.timezone ?? ""}
          onChange={({ target }) => onChange({ timezone: target.value === "" ? null : target.value })}
        />
        <datalist id={zones}>
          {Intl.supportedValuesOf("timeZone").map((zone) => (
            <option key={zone}>{zone}</option>
          ))}
        </datalist>
      </label>
      <label className="field">
        <span>{t("crons.end")}</span>
        <input
          className="input"
          type="datetime-local"
          value={localMoment(fields.end_time)}
          onChange={({ target }) =>
            onChange({ end_time: target.value === "" ? null : new Date(target.value).toISOString() })
          }
        />
      </label>
      {!hasThread && (
        <label className="field">
          <span>{t("crons.after")}</span>
          <select
            className="filter"
            value={fields.on_run_completed}
            onChange={({ target }) => onChange({ on_run_completed: target.value === "keep" ? "keep" : "delete" })}
          >
            <option value="keep">{t("crons.keep")}</option>
            <option value="delete">{t("crons.forget")}</option>
          </select>
        </label>
      )}
    </>
  );
}
