import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import {
  answerWith,
  forgetModel,
  roleNames,
  testModel,
  useModel,
  useModelStatistics,
  type Model,
  type ModelVerdict,
} from "../../api/shaping/models.ts";
import { modelAddress, statisticsAddress, vendorAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { count, longTime, preciseDuration } from "../../text/time.ts";
import { Facts } from "../facts.tsx";
import { PlaceLink } from "../place-link.tsx";
import { ModelForm } from "./model-form.tsx";

/** One model: what is known of it, whether it answers, and what of that can be changed. */
export function ModelView({ name, mayChange }: { name: string; mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useModel(name);
  if (data !== undefined) return <OneModel model={data} mayChange={mayChange} />;
  if (error === null) return <Loading lines={8} />;
  const gone = { title: t("models.gone"), hint: t("models.goneHint") };
  return <Failed error={error} onRetry={() => void refetch()} gone={gone} />;
}

function OneModel({ model, mayChange }: { model: Model; mayChange: boolean }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { name, profile, roles, own, has_what_it_needs, llm_last_verified_at: verifiedAt } = model;
  const { price } = profile;
  const [isEdited, setEdited] = useState(false);
  const [verdict, setVerdict] = useState<ModelVerdict | "asked">();
  const statistics = useModelStatistics().data?.find((one) => one.model === name)?.statistics;
  const perform = (act: () => Promise<void>) => void act().catch(notifyError);
  const test = async () => {
    setVerdict("asked");
    try {
      setVerdict(await testModel(name));
    } catch (error) {
      setVerdict(undefined);
      throw error;
    }
  };
  const forget = async () => {
    await forgetModel(name);
    notify(t("models.forgotten", { name: visible(name) }));
    navigate(modelAddress());
  };
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <div>
          <h2>{visible(profile.display_name)}</h2>
          <p className="hint mono">{visible(name)}</p>
        </div>
        {mayChange && (
          <div className="filters">
            <Button size="small" onClick={() => setEdited(!isEdited)} aria-expanded={isEdited}>
              {t("models.edit")}
            </Button>
            {own !== null && (
              <Button size="small" kind="quiet" onClick={() => perform(forget)}>
                {t("models.forget")}
              </Button>
            )}
            <Button size="small" disabled={verdict === "asked"} onClick={() => perform(test)}>
              {t(verdict === "asked" ? "model.testing" : "models.test")}
            </Button>
            {!roles.includes("main") && (
              <Button
                size="small"
                kind="primary"
                disabled={!has_what_it_needs}
                onClick={() =>
                  perform(async () => {
                    await answerWith(name);
                    notify(t("model.answers", { name: visible(name) }));
                  })
                }
              >
                {t("models.answer")}
              </Button>
            )}
          </div>
        )}
      </header>
      {!has_what_it_needs && (
        <p className="run-note">
          {t("models.needsKey")}{" "}
          <Button size="small" kind="quiet" onClick={() => navigate(vendorAddress(model.provider))}>
            {t("models.toVendor")}
          </Button>
        </p>
      )}
      <div role="status">{verdict !== undefined && verdict !== "asked" && <Verdict verdict={verdict} />}</div>
      {isEdited && <ModelForm model={model} onClose={() => setEdited(false)} />}
      <Facts
        title={t("models.facts")}
        rows={[
          [t("models.usedFor"), usesOf(roles, t("models.nothing"), (role) => t(`models.role.${role}`))],
          [t("models.window"), t("models.tokens", { tokens: count(profile.context) })],
          [t("models.output"), t("models.tokens", { tokens: count(profile.output) })],
          [t("models.vision"), t(profile.vision ? "models.yes" : "models.no")],
          [t("models.thinking"), t(`models.thinks.${profile.thinking}` as "models.thinks.none")],
          [t("models.calls"), t(`models.callsBy.${profile.tool_calls}` as "models.callsBy.native")],
          [t("models.form"), t(`models.forms.${profile.structured_output}` as "models.forms.none")],
          [
            t("models.price"),
            price === null
              ? t("models.unknown")
              : t("models.priceOf", { input: price.input, output: price.output, currency: price.currency }),
          ],
          [t("models.verified"), verifiedAt === null ? t("models.never") : longTime(verifiedAt)],
        ]}
      />
      {statistics !== undefined && (
        <Facts
          title={t("models.statistics")}
          rows={[
            [t("models.requests"), count(statistics.calls)],
            [t("models.failed"), count(statistics.failed)],
            [t("models.firstWords"), timeOf(statistics.mean_first_token_ms)],
            [t("models.duration"), timeOf(statistics.mean_duration_ms)],
          ]}
        />
      )}
      <div>
        <PlaceLink address={statisticsAddress(name)}>{t("models.byDay")}</PlaceLink>
      </div>
    </div>
  );
}

function usesOf(roles: readonly string[], none: string, nameOf: (role: (typeof roleNames)[number]) => string): string {
  const names = roleNames.filter((role) => roles.includes(role)).map(nameOf);
  return names.length === 0 ? none : names.join(" · ");
}

function timeOf(milliseconds: number | null): string {
  return milliseconds === null ? "–" : preciseDuration(milliseconds);
}

/** Whether a model has answered, and why not. */
function Verdict({ verdict: { ok, message, suggestion, milliseconds } }: { verdict: ModelVerdict }) {
  const { t } = useTranslation(manage);
  if (ok) return <p className="shaping-good">{t("models.answered", { time: preciseDuration(milliseconds) })}</p>;
  return (
    <p className="problem">
      {visible(message)} {suggestion !== null && visible(suggestion)}
    </p>
  );
}
