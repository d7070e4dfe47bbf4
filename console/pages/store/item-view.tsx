import Database from "icon:database";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import { deleteItems, useItem, writeItem, type Item, type ItemPlace } from "../../api/shaping/store.ts";
import { storeAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { visible } from "../../markdown/links.ts";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { jsonText } from "../../text/json-text.ts";
import { longTime } from "../../text/time.ts";
import { ChangedElsewhere } from "../changed-elsewhere.tsx";
import { DeleteButton } from "../forms/delete-button.tsx";
import { DraftButtons } from "../forms/draft-buttons.tsx";
import { useNewest } from "../forms/newest.ts";
import { PlaceLink } from "../place-link.tsx";
import { EndField, minutesOf } from "./end-field.tsx";

/** What an item may hold. */
export const ItemValue = z.record(z.string(), z.unknown());

/** What has been written and not saved. */
interface Draft {
  /** The item as it was when the writing began, or when its change was last spoken of. */
  base: Item;
  /** The key of the field in which it is written. */
  field: string;
  value: unknown;
  /** The minutes that it is to stay, as they were written. */
  ends: string;
  problem: string | undefined;
}

const endsOf = ({ ttl }: Item): string => (ttl === undefined ? "" : String(ttl));

/** One item: its value as JSON, to be changed, and the way to be rid of it. */
export function ItemView({ place }: { place: ItemPlace }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useItem(place);
  const [draft, setDraft] = useState<Draft>();
  const item = data ?? draft?.base;
  if (item !== undefined) {
    const now = async () => (await refetch({ throwOnError: true })).data ?? null;
    return <Editor item={item} isGone={data === null} now={now} draft={draft} onDraft={setDraft} />;
  }
  if (data === null) return <Empty icon={<Database />} title={t("store.gone")} hint={t("store.goneHint")} />;
  return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function Editor({
  item,
  isGone,
  now,
  draft,
  onDraft,
}: {
  item: Item;
  isGone: boolean;
  /** Reads it once more. */
  now: () => Promise<Item | null>;
  draft: Draft | undefined;
  onDraft: (draft: Draft | undefined) => void;
}) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { namespace, key, value } = item;
  const [round, setRound] = useState(0);
  const newest = useNewest(draft);
  const written = z.safeParse(ItemValue, draft?.value);
  const minutes = minutesOf(draft?.ends ?? endsOf(item));
  const isChanged = draft !== undefined && (isGone || draft.base.updated_at !== item.updated_at);
  const drop = () => {
    onDraft(undefined);
    setRound(round + 1);
  };
  const save = async (isOver: boolean) => {
    if (draft === undefined || !written.success || minutes === undefined) return;
    // What another has written meanwhile is not lost without a word.
    if (!isOver && (await now())?.updated_at !== draft.base.updated_at) return;
    // An end that was not changed here stays as it is there now.
    await writeItem(item, written.data, draft.ends === endsOf(draft.base) ? undefined : minutes);
    const more = newest.current;
    const base = more === draft ? null : await now();
    if (more && base) onDraft({ ...more, base });
    else drop();
    notify(t("store.saved"));
  };
  const maySave = draft !== undefined && draft.problem === undefined && written.success && minutes !== undefined;
  const begun: Draft = draft ?? {
    base: item,
    field: `${round} ${item.updated_at}`,
    value,
    ends: endsOf(item),
    problem: undefined,
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
          <DeleteButton
            label={t("store.delete")}
            title={t("store.deleteOne", { key: visible(key) })}
            hint={t("store.deleteHint")}
            disabled={isGone}
            run={async () => {
              await deleteItems([item]);
              navigate(storeAddress(namespace));
            }}
          />
          <DraftButtons
            isDirty={draft !== undefined}
            maySave={maySave && !isChanged}
            onDrop={drop}
            save={() => save(false)}
          />
        </div>
      </header>
      {isChanged && (
        <ChangedElsewhere
          isGone={isGone}
          mayKeep={maySave}
          onKeep={() => void save(true).catch(notifyError)}
          onTake={drop}
          texts={isGone ? undefined : { theirs: jsonText(value), mine: jsonText(draft.value) }}
        />
      )}
      <JsonInput
        key={begun.field}
        label={t("store.value")}
        rows={10}
        value={begun.base.value}
        onValue={(next, problem) => onDraft({ ...begun, value: next, problem })}
      />
      {draft !== undefined && draft.problem === undefined && !written.success && (
        <p className="problem">{t("store.noObject")}</p>
      )}
      <EndField written={begun.ends} empty={t("store.stays")} onWritten={(ends) => onDraft({ ...begun, ends })} />
      {item.ttl !== undefined && <p className="hint">{t("store.ends", { count: item.ttl })}</p>}
    </div>
  );
}
