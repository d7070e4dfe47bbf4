import FolderTree from "icon:folder-tree";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { fileAddress } from "../../app/addresses.ts";
import { Empty } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne, Segments } from "../list-and-one.tsx";
import { AllChanges } from "./all-changes.tsx";
import { FileTree } from "./file-tree.tsx";
import { OneFile } from "./one-file.tsx";

/** The workspace: its files with their history, and what tools have changed in it, run by run. */
export function FilesPage({ part }: { part: "files" | "changes" }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const path = new URLSearchParams(useSearch()).get("path") ?? undefined;
  const segments = [
    { label: t("files.files"), address: fileAddress(), isHere: part === "files" },
    { label: t("files.changes"), address: "/changes", isHere: part === "changes" },
  ];
  if (part === "changes") {
    return (
      <div className="shaping" data-open>
        <header className="page-head">
          <h1>{t("files.title")}</h1>
          <Segments label={t("files.parts")} segments={segments} />
        </header>
        <div className="shaping-one">
          <AllChanges />
        </div>
      </div>
    );
  }
  return (
    <ListAndOne
      title={t("files.title")}
      segments={segments}
      segmentsLabel={t("files.parts")}
      back={fileAddress()}
      isOpen={path !== undefined}
      list={<FileTree current={path} onOpen={(one) => navigate(fileAddress(one))} />}
    >
      {path === undefined ? (
        <Empty icon={<FolderTree />} title={t("files.choose")} hint={t("files.chooseHint")} />
      ) : (
        <OneFile key={path} path={path} />
      )}
    </ListAndOne>
  );
}
