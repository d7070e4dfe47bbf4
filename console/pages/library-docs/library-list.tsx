import { useTranslation } from "react-i18next";
import { useLibraryDocs } from "../../api/shaping/library-docs.ts";
import { visible } from "../../markdown/links.ts";
import { Failed, Loading } from "../../parts/states.tsx";
import { manage } from "../../text/manage/words.ts";
import { ListEntry } from "../list-and-one.tsx";

/** The libraries whose documentation models read before they work. */
export function LibraryList({ current, onOpen }: { current: string | undefined; onOpen: (name: string) => void }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useLibraryDocs();
  if (data === undefined) {
    return error === null ? <Loading lines={4} /> : <Failed error={error} onRetry={() => void refetch()} />;
  }
  const { libraries, documents, warnings } = data;
  return (
    <>
      {warnings.map(({ file, problem }) => (
        <p key={`${file} ${problem}`} className="problem">
          <code>{visible(file)}</code> {visible(problem)}
        </p>
      ))}
      {libraries.length === 0 && <p className="hint">{t("libraries.empty")}</p>}
      <ul>
        {libraries.map((library) => (
          <li key={library}>
            <ListEntry
              title={visible(library)}
              isHere={library === current}
              chip={String(documents.filter((one) => one.library === library).length)}
              onOpen={() => onOpen(library)}
            />
          </li>
        ))}
      </ul>
    </>
  );
}
