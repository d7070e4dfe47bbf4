import { createContext, use, type ReactNode } from "react";
import { pathIn, visible, withoutLine } from "./links.ts";

/** Shows a file of the workspace; none where there is no way to. */
export const OpenFile = createContext<((path: string) => void) | undefined>(undefined);

/** A path, which opens its file where that can be shown. */
export function FileLink({ path, children }: { path: string; children?: ReactNode }) {
  const open = use(OpenFile);
  const words = children ?? visible(path);
  if (open === undefined) return words;
  return (
    <button type="button" className="file-link" title={visible(path)} onClick={() => open(withoutLine(path))}>
      {words}
    </button>
  );
}

/** Code within a line, which opens the file that it names. */
export function InlineCode({ text }: { text: string }) {
  const path = pathIn(text);
  return <code className="inline-code">{path === undefined ? text : <FileLink path={path}>{text}</FileLink>}</code>;
}
