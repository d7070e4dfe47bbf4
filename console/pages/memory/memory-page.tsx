import Brain from "icon:brain";
import Plus from "icon:plus";
import { useDeferredValue, useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { addMemory, memoryKinds, useMemories, type MemoryInput } from "../../api/shaping/memory.ts";
import { memoryAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { CreateDialog } from "../forms/create-dialog.tsx";
import { ListAndOne, ListEntry, ListSearch } from "../list-and-one.tsx";
import { isWhole, MemoryFields } from "./memory-fields.tsx";
import { MemoryView } from "./memory-view.tsx";

/** What the assistant knows of its user: found by words, written, changed and deleted. */
export function MemoryPage({ id }: { id: string | undefined }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [isAdding, setAdding] = useState(false);
  const isOn = useMemories("").data?.is_on === true;
  return (
    <>
      <ListAndOne
        title={t("memory.title")}
        back={memoryAddress()}
        isOpen={id !== undefined}
        actions={
          isOn && (
            <Button size="small" onClick={() => setAdding(true)}>
              <Plus size={15} /> {t("memory.add")}
            </Button>
          )
        }
        list={<MemoryList current={id} onOpen={(one) => navigate(memoryAddress(one))} />}
      >
        {id === undefined ? (
          <Empty icon={<Brain />} title={t("memory.choose")} hint={t("memory.chooseHint")} />
        ) : (
          <MemoryView key={id} id={id} mayChange={isOn} />
        )}
      </ListAndOne>
      {isAdding && <NewMemory onClose={() => setAdding(false)} />}
    </>
  );
}

function MemoryList({ current, onOpen }: { current: string | undefined; onOpen: (id: string) => void }) {
  const { t } = useTranslation(manage);
  const [query, setQuery] = useState("");
  const words = useDeferredValue(query.trim());
  const { data, error, refetch } = useMemories(words);
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const kinds = Map.groupBy(data.data, ({ kind }) => kind);
  return (
    <>
      <ListSearch label={t("memory.search")} query={query} onQuery={setQuery} />
      {!data.is_on && <p className="hint">{t("memory.off")}</p>}
      {data.data.length === 0 && (
        <p className="hint">{words === "" ? t("memory.empty") : t("store.none", { query: visible(words) })}</p>
      )}
      {memoryKinds.map((kind) => {
        const memories = kinds.get(kind);
        return (
          memories && (
            <section key={kind} aria-label={t(`memory.kinds.${kind}`)}>
              <h2 className="list-group">{t(`memory.kinds.${kind}`)}</h2>
              <ul>
                {memories.map(({ id, slot, content }) => (
                  <li key={id}>
                    <ListEntry
                      title={visible(content)}
                      {...(slot !== null && { name: visible(slot) })}
                      isHere={id === current}
                      onOpen={() => onOpen(id)}
                    />
                  </li>
                ))}
              </ul>
            </section>
          )
        );
      })}
    </>
  );
}

function NewMemory({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [memory, setMemory] = useState<MemoryInput>({ kind: "preference", slot: null, content: "" });
  return (
    <CreateDialog
      title={t("memory.add")}
      isWhole={isWhole(memory)}
      make={async () => navigate(memoryAddress(await addMemory(memory)))}
      onClose={onClose}
    >
      <MemoryFields memory={memory} onMemory={setMemory} />
      <p className="hint">{t("memory.addHint")}</p>
    </CreateDialog>
  );
}
