import Database from "icon:database";
import Plus from "icon:plus";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { storeAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne } from "../list-and-one.tsx";
import { ItemList } from "./item-list.tsx";
import { ItemView } from "./item-view.tsx";
import { NamespaceTree } from "./namespace-tree.tsx";
import { NewItem } from "./new-item.tsx";

/** What graphs and clients keep outside of threads: by namespace, found by words, changed as JSON. */
export function StorePage() {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch());
  const [isAdding, setAdding] = useState(false);
  const given = asked.get("in");
  const namespace = given === null ? undefined : given === "" ? [] : given.split(".");
  const key = asked.get("key");
  return (
    <>
      <ListAndOne
        title={t("store.title")}
        back={storeAddress()}
        isOpen={namespace !== undefined}
        actions={
          <Button size="small" onClick={() => setAdding(true)}>
            <Plus size={15} /> {t("store.add")}
          </Button>
        }
        list={<NamespaceTree current={namespace} onOpen={(one) => navigate(storeAddress(one))} />}
      >
        {namespace === undefined ? (
          <Empty icon={<Database />} title={t("store.choose")} hint={t("store.chooseHint")} />
        ) : key === null ? (
          <ItemList key={given} namespace={namespace} />
        ) : (
          <ItemView key={`${given ?? ""} ${key}`} place={{ namespace, key }} />
        )}
      </ListAndOne>
      {isAdding && <NewItem namespace={namespace ?? []} onClose={() => setAdding(false)} />}
    </>
  );
}
