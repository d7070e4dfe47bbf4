import Database from "icon:database";
import Folder from "icon:folder";
import ChevronRight from "icon:chevron-right";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useNamespaces } from "../../api/shaping/store.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry } from "../list-and-one.tsx";
import { treeOf, type Branch } from "./namespaces.ts";

interface Choice {
  current: readonly string[] | undefined;
  onOpen: (namespace: readonly string[]) => void;
}

/** All namespaces that hold something, and all of the store above them. */
export function NamespaceTree(choice: Choice) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useNamespaces();
  if (data === undefined) {
    return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  return (
    <div className="file-tree">
      <ListEntry
        title={t("store.all")}
        icon={<Database size={15} />}
        isHere={choice.current?.length === 0}
        onOpen={() => choice.onOpen([])}
      />
      {data.length === 0 && <p className="hint">{t("store.empty")}</p>}
      <Branches branches={treeOf(data)} {...choice} />
    </div>
  );
}

function Branches({ branches, ...choice }: Choice & { branches: readonly Branch[] }) {
  const { t } = useTranslation(manage);
  if (branches.length === 0) return null;
  return (
    <ul className="file-tree" aria-label={t("store.namespaces")}>
      {branches.map((branch) => (
        <BranchEntry key={branch.label} branch={branch} {...choice} />
      ))}
    </ul>
  );
}

function BranchEntry({ branch: { label, namespace, branches }, ...choice }: Choice & { branch: Branch }) {
  const { t } = useTranslation(manage);
  const here = choice.current;
  const holdsCurrent = here !== undefined && namespace.every((one, at) => here[at] === one);
  const isHere = holdsCurrent && here.length === namespace.length;
  // Until it is chosen, a branch is open where what is shown lies below it.
  const [chosen, setOpen] = useState<boolean>();
  const isOpen = chosen ?? (holdsCurrent || namespace.length < 2);
  return (
    <li>
      <div className="tree-row">
        {branches.length > 0 ? (
          <button
            type="button"
            className="tree-toggle"
            aria-expanded={isOpen}
            aria-label={t("store.open", { name: visible(label) })}
            onClick={() => setOpen(!isOpen)}
          >
            <ChevronRight size={14} className="chevron" />
          </button>
        ) : (
          <span className="tree-toggle" />
        )}
        <ListEntry
          title={visible(label)}
          icon={<Folder size={15} />}
          isHere={isHere}
          onOpen={() => choice.onOpen(namespace)}
        />
      </div>
      {isOpen && <Branches branches={branches} {...choice} />}
    </li>
  );
}
