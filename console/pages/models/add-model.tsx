import { useState } from "react";
import { useTranslation } from "react-i18next";
import {
  addModel,
  answerWith,
  tryModel,
  useOllama,
  useProviders,
  type ModelVerdict,
  type Provider,
} from "../../api/shaping/models.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { Failed, Loading, messageOf } from "../../parts/states.tsx";
import { notify } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { RecommendedModels } from "./ollama-parts.tsx";

/** The one step from nothing to a model that answers: whose, with which key, tested. */
export function AddModel({ onClose, onAdded }: { onClose: () => void; onAdded?: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useProviders();
  const [chosen, setChosen] = useState<string>();
  const provider = data?.find(({ name }) => name === chosen) ?? data?.[0];
  return (
    <Dialog title={t("model.add")} onClose={onClose}>
      <div className="dialog-body">
        {error !== null && data === undefined && <Failed error={error} onRetry={() => void refetch()} />}
        {error === null && data === undefined && <Loading lines={4} />}
        {data !== undefined && provider !== undefined && (
          <>
            <label className="field">
              <span>{t("model.vendor")}</span>
              <select className="input" value={provider.name} onChange={({ target }) => setChosen(target.value)}>
                {data.map(({ name, title }) => (
                  <option key={name} value={name}>
                    {visible(title)}
                  </option>
                ))}
              </select>
            </label>
            <OneModel key={provider.name} provider={provider} onClose={onClose} onAdded={onAdded} />
          </>
        )}
      </div>
    </Dialog>
  );
}

/** Asks for what a provider needs, and tests it before it counts. */
function OneModel({
  provider,
  onClose,
  onAdded,
}: {
  provider: Provider;
  onClose: () => void;
  onAdded: ((name: string) => void) | undefined;
}) {
  const { t } = useTranslation(manage);
  const isOllama = provider.name === "ollama";
  const ollama = useOllama(isOllama);
  const [named, setName] = useState<string>();
  const [key, setKey] = useState("");
  // Where models are looked at, one can be added that answers only where it is chosen.
  const [answers, setAnswers] = useState(onAdded === undefined);
  const [isBusy, setBusy] = useState(false);
  const [verdict, setVerdict] = useState<Pick<ModelVerdict, "message" | "suggestion">>();
  const usual = isOllama ? ollama.data?.models[0]?.model : (provider.usual_model ?? undefined);
  const name = (named ?? usual?.slice(provider.name.length + 1) ?? "").trim();
  const needsKey = provider.needs_key && provider.key?.is_set === false && key.trim() === "";
  const take = async (model: string) => {
    await (answers ? answerWith(model) : addModel(model));
    notify(t(answers ? "model.answers" : "models.added", { name: visible(model) }));
  };
  const words = answers ? "model.use" : "models.testAndAdd";
  const use = async () => {
    if (name === "" || needsKey || isBusy) return;
    const model = `${provider.name}:${name}`;
    setBusy(true);
    setVerdict(undefined);
    try {
      const result = await tryModel(model, key.trim());
      if (!result.ok) {
        setVerdict(result);
        return;
      }
      await take(model);
      onClose();
      onAdded?.(model);
    } catch (error) {
      setVerdict({ message: messageOf(error), suggestion: null });
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className="schema-form"
      onSubmit={(event) => {
        event.preventDefault();
        void use();
      }}
    >
      {isOllama ? (
        <OllamaModels ollama={ollama} value={name} onChange={setName} />
      ) : (
        <>
          {provider.key !== null && <KeyField isSet={provider.key.is_set} value={key} onChange={setKey} />}
          <label className="field">
            <span>{t("model.name")}</span>
            <input
              className="input mono"
              value={named ?? name}
              spellCheck={false}
              onChange={({ target }) => setName(target.value)}
            />
          </label>
        </>
      )}
      {onAdded !== undefined && (
        <label className="check">
          <input type="checkbox" checked={answers} onChange={({ target }) => setAnswers(target.checked)} />
          <span>{t("models.answers")}</span>
        </label>
      )}
      {verdict !== undefined && <Refusal verdict={verdict} />}
      <div className="row-end">
        <Button type="submit" kind="primary" disabled={name === "" || needsKey || isBusy}>
          {t(isBusy ? "model.testing" : words)}
        </Button>
      </div>
    </form>
  );
}

/** A key is written and never shown. */
function KeyField({ isSet, value, onChange }: { isSet: boolean; value: string; onChange: (key: string) => void }) {
  const { t } = useTranslation(manage);
  return (
    <>
      <label className="field">
        <span>{t("model.key")}</span>
        <input
          type="password"
          className="input mono"
          autoComplete="off"
          value={value}
          placeholder={isSet ? t("model.keySet") : ""}
          onChange={({ target }) => onChange(target.value)}
        />
      </label>
      <p className="hint">{t("model.keyHint")}</p>
    </>
  );
}

/** Why a model does not answer, and what helps. */
function Refusal({ verdict: { message, suggestion } }: { verdict: Pick<ModelVerdict, "message" | "suggestion"> }) {
  return (
    <p className="problem" role="alert">
      {visible(message)} {suggestion !== null && visible(suggestion)}
    </p>
  );
}

/** The models of Ollama to choose from; where there is none, what brings one. */
function OllamaModels({
  ollama: { data, error, refetch },
  value,
  onChange,
}: {
  ollama: ReturnType<typeof useOllama>;
  value: string;
  onChange: (name: string) => void;
}) {
  const { t } = useTranslation(manage);
  if (error !== null && data === undefined) return <Failed error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Loading lines={3} />;
  const { state, models, recommended } = data;
  if (models.length > 0) {
    return (
      <label className="field">
        <span>{t("model.name")}</span>
        <select className="input" value={value} onChange={({ target }) => onChange(target.value)}>
          {models.map(({ model, title }) => (
            <option key={model} value={model.slice("ollama:".length)}>
              {visible(title)}
            </option>
          ))}
        </select>
      </label>
    );
  }
  return (
    <>
      <p className="hint">
        {visible(state.message)} {state.suggestion !== null && visible(state.suggestion)}
      </p>
      <RecommendedModels models={recommended.slice(0, 3)} />
      <div className="row-end">
        <Button size="small" onClick={() => void refetch()}>
          {t("model.lookAgain")}
        </Button>
      </div>
    </>
  );
}
