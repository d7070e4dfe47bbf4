import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import {
  refreshLibraries,
  removeLibrary,
  setRepository,
  useLibrary,
  useLibraryDocs,
} from "../../api/shaping/library-docs.ts";
import { useCaller } from "../../api/threads.ts";
import { libraryAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Disclosure } from "../../parts/disclosure.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { LongText } from "../../parts/values/json-view.tsx";
import { manage } from "../../text/manage/words.ts";
import { DeleteButton } from "../forms/delete-button.tsx";

/** The documents of one library, as models read them. */
export function LibraryView({ name }: { name: string }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { data, error, refetch } = useLibrary(name);
  const mayChange = useCaller().data?.may_administer === true;
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  if (!data.libraries.includes(name)) {
    return <Empty icon={<SearchX />} title={t("libraries.gone")} hint={t("libraries.goneHint")} />;
  }
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <h2>{visible(name)}</h2>
        {mayChange && (
          <DeleteButton
            label={t("libraries.remove")}
            title={t("libraries.removeOne", { name: visible(name) })}
            hint={t("libraries.removeHint")}
            run={async () => {
              await removeLibrary(name);
              navigate(libraryAddress());
            }}
          />
        )}
      </header>
      {data.documents.length === 0 && <p className="hint">{t("libraries.noDocuments")}</p>}
      <ul className="channels">
        {data.documents.map(({ path, content = "" }) => (
          <li key={path}>
            <Disclosure title={visible(path)}>
              <LongText text={content} label={visible(path)} />
            </Disclosure>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Where the documents come from, to be changed and brought here anew. */
export function LibraryRepository() {
  const { t } = useTranslation(manage);
  const { data } = useLibraryDocs();
  const mayChange = useCaller().data?.may_administer === true;
  const [draft, setDraft] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (data === undefined) return null;
  const perform = (act: () => Promise<void>) => {
    setBusy(true);
    void act()
      .then(() => notify(t("libraries.done")))
      .catch(notifyError)
      .finally(() => setBusy(false));
  };
  const save = async () => {
    await setRepository(draft?.trim() === "" ? null : (draft ?? null));
    setDraft((now) => (now === draft ? undefined : now));
  };
  return (
    <form
      className="schema-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (draft !== undefined) perform(save);
      }}
    >
      <label className="field">
        <span>{t("libraries.repository")}</span>
        <input
          className="input mono"
          type="url"
          readOnly={!mayChange}
          value={draft ?? data.repository}
          onChange={({ target }) => setDraft(target.value)}
        />
      </label>
      <p className="hint">{t(data.is_cloned ? "libraries.isHere" : "libraries.isNotHere")}</p>
      {mayChange && (
        <div className="row-end">
          <Button size="small" disabled={isBusy || !data.is_cloned} onClick={() => perform(refreshLibraries)}>
            {t(isBusy ? "libraries.fetching" : "libraries.refresh")}
          </Button>
          <Button size="small" kind="primary" type="submit" disabled={isBusy || draft === undefined}>
            {t("prompts.save")}
          </Button>
        </div>
      )}
    </form>
  );
}
