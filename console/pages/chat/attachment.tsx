import FileText from "icon:file-text";
import { useQuery } from "@tanstack/react-query";
import { useState, type ReactNode } from "react";
import { pictureType } from "../../api/file-content.ts";
import { readFileOf } from "../../api/operations.ts";
import { visible } from "../../markdown/links.ts";
import { Picture } from "./picture.tsx";

/** Files of a message that are shown at once. */
const shownFirst = 3;

/** The files that go with a message, pictures as such; `end` is what stands behind a name. */
export function Attachments({ paths, end }: { paths: readonly string[]; end?: (path: string) => ReactNode }) {
  const [isWhole, setWhole] = useState(false);
  if (paths.length === 0) return null;
  const shown = isWhole ? paths : paths.slice(0, shownFirst);
  return (
    <ul className="attachments">
      {shown.map((path) => (
        <li key={path} className="attachment">
          {pictureType(path) === undefined ? <FileText size={14} /> : <Preview path={path} />}
          <span className="attachment-name">{visible(path)}</span>
          {end?.(path)}
        </li>
      ))}
      {shown.length < paths.length && (
        <li>
          <button type="button" className="code-more" onClick={() => setWhole(true)}>
            +{paths.length - shown.length}
          </button>
        </li>
      )}
    </ul>
  );
}

/** A picture of the workspace, small; the mark of a file where there is none, or it may not be read. */
function Preview({ path }: { path: string }) {
  const { data } = useQuery({
    queryKey: ["file", path],
    queryFn: ({ signal }) => readFileOf(path, signal),
    retry: false,
    staleTime: 60_000,
  });
  if (data?.kind !== "picture") return <FileText size={14} />;
  // Its name stands beside it.
  return <Picture blob={data.blob} name="" className="attachment-image" />;
}
