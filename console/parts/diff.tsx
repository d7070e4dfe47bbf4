import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { DiffLine, OperationDiff } from "../api/shapes.ts";
import { visible } from "../markdown/links.ts";

/** Lines, and characters of a line, that are drawn before somebody asks for all. */
const firstLines = 1_000;
const firstLetters = 2_000;

/** The lines that differ, with their numbers. */
export function DiffLines({ lines }: { lines: readonly DiffLine[] }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && (lines.length > firstLines || lines.some(({ text }) => text.length > firstLetters));
  const table = (
    <LineTable lines={isCut ? lines.slice(0, firstLines) : lines} longest={isCut ? firstLetters : Infinity} />
  );
  if (!isCut) return table;
  return (
    <>
      {table}
      <button type="button" className="code-more" onClick={() => setWhole(true)}>
        {t("tool.showAll")}
      </button>
    </>
  );
}

function LineTable({ lines, longest }: { lines: readonly DiffLine[]; longest: number }) {
  const { t } = useTranslation();
  return (
    <div className="diff" role="group" tabIndex={0} aria-label={t("operation.diff")}>
      <table>
        <tbody>
          {lines.map(({ kind, text, old_line, new_line }, index) => (
            <tr key={index} data-kind={kind}>
              <td className="diff-number">{old_line}</td>
              <td className="diff-number">{new_line}</td>
              <td className="diff-sign">{kind === "added" ? "+" : kind === "removed" ? "−" : ""}</td>
              <td className="diff-text">{visible(text.length > longest ? `${text.slice(0, longest)}…` : text)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** The diff of an operation, or why there is none. */
export function Diff({ diff }: { diff: OperationDiff }) {
  const { t } = useTranslation();
  const reasons: Record<string, string> = {
    not_text: t("operation.notText"),
    not_kept: t("operation.notKept"),
    moved: t("operation.moved"),
    pending: t("operation.pending"),
  };
  if (diff.reason !== null) return <p className="hint">{reasons[diff.reason] ?? diff.reason}</p>;
  return (
    <>
      <DiffLines lines={diff.lines} />
      {diff.more > 0 && <p className="hint">{t("tool.moreLines", { count: diff.more })}</p>}
    </>
  );
}

/** How many lines came and went. */
export function LineCounts({ added, removed }: { added: number | null; removed: number | null }) {
  if (added === null && removed === null) return null;
  return (
    <span className="line-counts">
      {added !== null && added > 0 && <span className="added">+{added}</span>}
      {removed !== null && removed > 0 && <span className="removed">−{removed}</span>}
    </span>
  );
}
