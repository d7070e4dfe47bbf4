import FolderTree from "icon:folder-tree";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useLocation, useSearch } from "wouter";
import { useThreadChanges } from "../../api/files.ts";
import { fileAddress, threadAddress } from "../../app/addresses.ts";
import { Empty } from "../../parts/states.tsx";
import { marksOf } from "../../run/file-marks.ts";
import { manage } from "../../text/manage/words.ts";
import { ListAndOne, Segments } from "../list-and-one.tsx";
import { PlaceLink } from "../place-link.tsx";
import { AllChanges } from "./all-changes.tsx";
import { FileTree } from "./file-tree.tsx";
import { OneFile } from "./one-file.tsx";

/** The workspace: its files with their history, and what tools have changed in it, run by run. */
export function FilesPage({ part }: { part: "files" | "changes" }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const asked = new URLSearchParams(useSearch());
  const path = asked.get("path") ?? undefined;
  const thread = asked.get("thread") ?? undefined;
  const changes = useThreadChanges(thread).data;
  const marks = useMemo(() => changes && marksOf(changes), [changes]);
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
      back={fileAddress(undefined, thread)}
      isOpen={path !== undefined}
      note={
        thread !== undefined && (
          <p className="run-note">
            {t("files.marked")}
            <PlaceLink address={threadAddress(thread)}>{t("files.toChat")}</PlaceLink>
          </p>
        )
      }
      list={<FileTree current={path} marks={marks} onOpen={(one) => navigate(fileAddress(one, thread))} />}
    >
      {path === undefined ? (
        <Empty icon={<FolderTree />} title={t("files.choose")} hint={t("files.chooseHint")} />
      ) : (
        <OneFile key={path} path={path} />
      )}
    </ListAndOne>
  );
}
