import Undo from "icon:undo-2";
import { Fragment, useState } from "react";
import { useTranslation } from "react-i18next";
import type { DiffLine, OperationDiff } from "../api/shapes.ts";
import { visible } from "../markdown/links.ts";
import { Button } from "./button.tsx";

/** Takes one hunk back, by its number. */
type UndoHunk = (hunk: number) => Promise<void>;

/** Lines, and characters of a line, that are drawn before the user asks for all. */
const firstLines = 1_000;
const firstLetters = 2_000;

/** The lines that differ, with their numbers. */
export function DiffLines({ lines, onUndo }: { lines: readonly DiffLine[]; onUndo?: UndoHunk | undefined }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && (lines.length > firstLines || lines.some(({ text }) => text.length > firstLetters));
  const table = (
    <LineTable
      lines={isCut ? lines.slice(0, firstLines) : lines}
      maxLength={isCut ? firstLetters : Infinity}
      onUndo={onUndo}
    />
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

function LineTable({
  lines,
  maxLength,
  onUndo,
}: {
  lines: readonly DiffLine[];
  maxLength: number;
  onUndo: UndoHunk | undefined;
}) {
  const { t } = useTranslation();
  return (
    <div className="diff" role="group" tabIndex={0} aria-label={t("operation.diff")}>
      <table>
        <tbody>
          {lines.map(({ kind, text, old_line, new_line, hunk }, index) => (
            <Fragment key={index}>
              {onUndo !== undefined && hunk !== undefined && hunk !== lines[index - 1]?.hunk && (
                <HunkHead hunk={hunk} onUndo={onUndo} />
              )}
              <tr data-kind={kind}>
                <td className="diff-number">{old_line}</td>
                <td className="diff-number">{new_line}</td>
                <td className="diff-sign">{kind === "added" ? "+" : kind === "removed" ? "−" : ""}</td>
                <td className="diff-text">
                  {visible(text.length > maxLength ? `${text.slice(0, maxLength)}…` : text)}
                </td>
              </tr>
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** What stands above a hunk that can be taken back alone. */
function HunkHead({ hunk, onUndo }: { hunk: number; onUndo: UndoHunk }) {
  const { t } = useTranslation();
  const [isBusy, setBusy] = useState(false);
  const undo = async () => {
    setBusy(true);
    try {
      await onUndo(hunk);
    } finally {
      setBusy(false);
    }
  };
  return (
    <tr data-kind="hunk">
      <td colSpan={4}>
        <Button size="small" kind="quiet" disabled={isBusy} onClick={() => void undo()}>
          <Undo size={13} />
          {t("operation.undoHunk", { hunk })}
        </Button>
      </td>
    </tr>
  );
}

/** The diff of an operation, or why there is none. `onUndo`: takes one hunk of it back, where there are several. */
export function Diff({ diff, onUndo }: { diff: OperationDiff; onUndo?: UndoHunk | undefined }) {
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
      <DiffLines lines={diff.lines} onUndo={diff.hunks > 1 ? onUndo : undefined} />
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
