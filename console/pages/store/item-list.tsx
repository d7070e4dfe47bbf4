import Database from "icon:database";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { deleteItems, useItems, type Item } from "../../api/shaping/store.ts";
import { storeAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";
import { Empty, Failed, Loading, NextPage } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { Ago } from "../../parts/values/ago.tsx";
import { ListSearch } from "../list-and-one.tsx";
import { ConditionRows } from "./condition-rows.tsx";
import { filterOf, type Condition } from "./conditions.ts";

/** An item among others. As JSON: keys may have dots, which would make "b.c" in "a" the same as "c" in "a.b". */
const nameOf = ({ namespace, key }: Item): string => JSON.stringify([namespace, key]);

/** The items below a namespace: found by words, opened, and several of them deleted at once. */
export function ItemList({ namespace }: { namespace: readonly string[] }) {
  const { t } = useTranslation(manage);
  const [query, setQuery] = useState("");
  const words = useDeferredValue(query.trim());
  const [conditions, setConditions] = useState<readonly Condition[]>([]);
  const filter = filterOf(useDeferredValue(conditions));
  const found = useItems(namespace, words, filter);
  const { data, error, refetch } = found;
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [isAsked, setAsked] = useState(false);
  const items = data?.pages.flat() ?? [];
  const chosen = items.filter((item) => selected.has(nameOf(item)));
  const toggle = (name: string) => {
    const next = new Set(selected);
    if (!next.delete(name)) next.add(name);
    setSelected(next);
  };
  return (
    <div className="shaping-view">
      <header className="prompt-head">
        <h2>{namespace.length === 0 ? t("store.all") : visible(namespace.join(" › "))}</h2>
        {chosen.length > 0 && (
          <Button size="small" kind="danger" onClick={() => setAsked(true)}>
            {t("store.deleteSome", { count: chosen.length })}
          </Button>
        )}
      </header>
      <ListSearch label={t("store.search")} query={query} onQuery={setQuery} />
      <ConditionRows conditions={conditions} onConditions={setConditions} />
      {data === undefined && error === null && <Loading lines={6} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data !== undefined && items.length === 0 && (
        <Empty
          icon={<Database />}
          title={
            words !== ""
              ? t("store.none", { query: visible(words) })
              : t(filter === undefined ? "store.nothing" : "store.noneFits")
          }
        />
      )}
      <ul className="store-items">
        {items.map((item) => (
          <ItemRow
            key={nameOf(item)}
            item={item}
            below={namespace.length}
            isSelected={selected.has(nameOf(item))}
            onSelect={() => toggle(nameOf(item))}
          />
        ))}
      </ul>
      <div>
        <NextPage query={found} label={t("store.more")} />
      </div>
      {isAsked && (
        <Confirm
          title={t("store.deleteSome", { count: chosen.length })}
          hint={t("store.deleteHint")}
          action={t("store.delete")}
          run={async () => {
            await deleteItems(chosen);
            setSelected(new Set());
          }}
          onClose={() => setAsked(false)}
        />
      )}
    </div>
  );
}

function ItemRow({
  item,
  below,
  isSelected,
  onSelect,
}: {
  item: Item;
  /** How many labels are those of the list. */
  below: number;
  isSelected: boolean;
  onSelect: () => void;
}) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const { namespace, key, value, updated_at } = item;
  return (
    <li className="store-item">
      <input
        type="checkbox"
        aria-label={t("store.select", { key: visible(key) })}
        checked={isSelected}
        onChange={onSelect}
      />
      <button type="button" className="shaping-entry" onClick={() => navigate(storeAddress(namespace, key))}>
        <span>
          {visible(key)}
          {namespace.length > below && <small>{visible(namespace.slice(below).join(" › "))}</small>}
          <code className="store-value">{visible(JSON.stringify(value).slice(0, 300))}</code>
        </span>
        <Ago at={updated_at} />
      </button>
    </li>
  );
}
