import Database from "icon:database";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { deleteItems, useItem, writeItem, type Item, type ItemPlace } from "../../api/shaping/store.ts";
import { storeAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { longTime } from "../../text/time.ts";
import { PlaceLink } from "../place-link.tsx";

/** What an item may hold. */
export const ItemValue = z.record(z.string(), z.unknown());

/** One item: its value as JSON, to be changed, and the way to be rid of it. */
export function ItemView({ place }: { place: ItemPlace }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useItem(place);
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  if (data === null) return <Empty icon={<Database />} title={t("store.gone")} hint={t("store.goneHint")} />;
  return <Editor key={data.updated_at} item={data} />;
}

function Editor({ item }: { item: Item }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { namespace, key, value } = item;
  const [draft, setDraft] = useState<{ value: unknown; problem: string | undefined }>();
  const [round, setRound] = useState(0);
  const [isAsked, setAsked] = useState(false);
  const written = z.safeParse(ItemValue, draft?.value);
  const save = async () => {
    if (!written.success) return;
    await writeItem(item, written.data);
    setDraft(undefined);
    notify(t("store.saved"));
  };
  return (
    <div className="shaping-view schema-form">
      <header className="prompt-head">
        <div>
          <h2>{visible(key)}</h2>
          <p className="hint">
            {t("store.changed", { time: longTime(item.updated_at) })}
            <PlaceLink address={storeAddress(namespace)}>{visible(namespace.join(" › "))}</PlaceLink>
          </p>
        </div>
        <div className="filters">
          <Button size="small" kind="quiet" onClick={() => setAsked(true)}>
            {t("store.delete")}
          </Button>
          <Button
            size="small"
            disabled={draft === undefined}
            onClick={() => {
              setDraft(undefined);
              setRound(round + 1);
            }}
          >
            {t("prompts.discard")}
          </Button>
          <Button
            size="small"
            kind="primary"
            disabled={draft === undefined || draft.problem !== undefined || !written.success}
            onClick={() => void save().catch(notifyError)}
          >
            {t("prompts.save")}
          </Button>
        </div>
      </header>
      <JsonInput
        key={round}
        label={t("store.value")}
        rows={10}
        value={value}
        onValue={(next, problem) => setDraft({ value: next, problem })}
      />
      {draft !== undefined && draft.problem === undefined && !written.success && (
        <p className="problem">{t("store.noObject")}</p>
      )}
      <p className="hint">{t("store.saveHint")}</p>
      {isAsked && (
        <Confirm
          title={t("store.deleteOne", { key: visible(key) })}
          hint={t("store.deleteHint")}
          action={t("store.delete")}
          run={async () => {
            await deleteItems([item]);
            navigate(storeAddress(namespace));
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}
