import { useState } from "react";
import { useTranslation } from "react-i18next";
import { describeModel, type Model } from "../../api/shaping/models.ts";
import { Button } from "../../parts/button.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";

const thinking = ["none", "optional", "on_request", "always"] as const;
const calls = ["native", "text", "tags"] as const;

type PriceFields = Record<"input" | "output" | "currency", string>;

/** The price that is written; null where none is, undefined where it is not whole. */
function priceOf({ input, output, currency }: PriceFields): Model["profile"]["price"] | undefined {
  const written = [input.trim(), output.trim()];
  if (written.every((text) => text === "")) return null;
  const code = currency.trim().toUpperCase();
  if (!written.every((text) => /^\d+(?:\.\d+)?$/u.test(text)) || !/^[A-Z]{3}$/u.test(code)) return undefined;
  return { input: Number(input), output: Number(output), currency: code };
}

/** What can be said of a model that is not known or has changed; only what differs is noted. */
export function ModelForm({ model, onClose }: { model: Model; onClose: () => void }) {
  const { t } = useTranslation(manage);
  const { profile } = model;
  const [form, setForm] = useState({
    display_name: profile.display_name,
    context: String(profile.context),
    output: String(profile.output),
    thinking: profile.thinking,
    tool_calls: profile.tool_calls,
    vision: profile.vision,
  });
  const [price, setPrice] = useState<PriceFields>({
    input: String(profile.price?.input ?? ""),
    output: String(profile.price?.output ?? ""),
    currency: profile.price?.currency ?? "USD",
  });
  const set = (changes: Partial<typeof form>) => setForm({ ...form, ...changes });
  const next = { ...form, context: Number(form.context), output: Number(form.output), price: priceOf(price) };
  const part = Object.fromEntries(
    Object.entries(next).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(profile[name as keyof typeof next]),
    ),
  );
  const isWhole = [next.context, next.output].every((tokens) => Number.isInteger(tokens) && tokens > 0);
  const maySave =
    isWhole && next.price !== undefined && next.display_name.trim() !== "" && Object.keys(part).length > 0;
  const save = async () => {
    await describeModel(model, part);
    notify(t("models.saved"));
    onClose();
  };
  return (
    <form
      className="shaping-form"
      aria-label={t("models.edit")}
      onSubmit={(event) => {
        event.preventDefault();
        if (maySave) void save().catch(notifyError);
      }}
    >
      <label className="field">
        <span>{t("models.name")}</span>
        <input
          className="input"
          value={form.display_name}
          maxLength={100}
          onChange={({ target }) => set({ display_name: target.value })}
        />
      </label>
      {(["context", "output"] as const).map((one) => (
        <label key={one} className="field">
          <span>{t(one === "context" ? "models.window" : "models.output")}</span>
          <input
            className="input"
            inputMode="numeric"
            value={form[one]}
            onChange={({ target }) => set({ [one]: target.value })}
          />
        </label>
      ))}
      <label className="field">
        <span>{t("models.thinking")}</span>
        <select className="input" value={form.thinking} onChange={({ target }) => set({ thinking: target.value })}>
          {thinking.map((one) => (
            <option key={one} value={one}>
              {t(`models.thinks.${one}`)}
            </option>
          ))}
        </select>
      </label>
      <label className="field">
        <span>{t("models.calls")}</span>
        <select className="input" value={form.tool_calls} onChange={({ target }) => set({ tool_calls: target.value })}>
          {calls.map((one) => (
            <option key={one} value={one}>
              {t(`models.callsBy.${one}`)}
            </option>
          ))}
        </select>
      </label>
      {(["input", "output", "currency"] as const).map((one) => (
        <label key={one} className="field">
          <span>{t(`models.priceFields.${one}`)}</span>
          <input
            className="input"
            inputMode={one === "currency" ? "text" : "decimal"}
            value={price[one]}
            onChange={({ target }) => setPrice({ ...price, [one]: target.value })}
          />
        </label>
      ))}
      <label className="check">
        <input type="checkbox" checked={form.vision} onChange={({ target }) => set({ vision: target.checked })} />
        <span>{t("models.vision")}</span>
      </label>
      <div className="row-end">
        <Button size="small" onClick={onClose}>
          {t("prompts.discard")}
        </Button>
        <Button size="small" kind="primary" type="submit" disabled={!maySave}>
          {t("prompts.save")}
        </Button>
      </div>
    </form>
  );
}
