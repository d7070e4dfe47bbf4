import { useTranslation } from "react-i18next";
import type { Approval } from "../../api/shapes.ts";
import { CodeBlock } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { DiffLines, LineCounts } from "../diff.tsx";
import { Disclosure } from "../disclosure.tsx";

/** Lines of a diff that are shown before somebody asks for all. */
const firstLines = 14;

/** What a call would do, before it is done: the command, the lines that would differ, the paths; the arguments on request. */
export function EffectView({
  approval,
  isWhole,
  onToggle,
}: {
  approval: Approval;
  isWhole: boolean;
  onToggle: () => void;
}) {
  const { t } = useTranslation();
  const { args, effect } = approval;
  const diff = effect?.diff;
  const lines = diff?.lines ?? [];
  const shown = isWhole ? lines : lines.slice(0, firstLines);
  return (
    <div className="effect">
      <p className="effect-tool">
        <code>{visible(approval.tool ?? "")}</code>
        {effect?.paths.map((path) => (
          <code key={path} className="effect-path">
            {visible(path)}
          </code>
        ))}
        {diff !== undefined && <LineCounts added={diff.added} removed={diff.removed} />}
        {effect && !effect.undoable && effect.kind !== "call" && (
          <span className="effect-final">{t("approval.final")}</span>
        )}
      </p>
      {effect?.command !== undefined && <CodeBlock text={visible(effect.command)} language="sh" isOpen={false} />}
      {shown.length > 0 && <DiffLines lines={shown} />}
      {shown.length < lines.length && (
        <button type="button" className="code-more" onClick={onToggle}>
          {t("tool.moreLines", { count: lines.length - shown.length + (diff?.more ?? 0) })} <kbd>v</kbd>
        </button>
      )}
      {isWhole && (diff?.more ?? 0) > 0 && <p className="hint">{t("tool.moreLines", { count: diff?.more ?? 0 })}</p>}
      <Disclosure title={t("tool.arguments")} isOpenAtFirst={!effect}>
        <CodeBlock text={visible(JSON.stringify(args ?? {}, null, 2))} language="json" isOpen={false} />
      </Disclosure>
    </div>
  );
}
