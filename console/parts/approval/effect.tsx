import { useTranslation } from "react-i18next";
import type { Approval } from "../../api/shapes.ts";
import { CodeBlock } from "../../markdown/code.tsx";
import { FileLink } from "../../markdown/file-link.tsx";
import { visible } from "../../markdown/links.ts";
import { jsonText } from "../../text/json-text.ts";
import { DiffLines, LineCounts } from "../diff.tsx";
import { Disclosure } from "../disclosure.tsx";

/** The difference that a call would make to files. */
type EffectLines = NonNullable<NonNullable<Approval["effect"]>["diff"]>;

/** Lines of a diff that are shown before the user asks for all. */
const firstLines = 14;

/** What a call would do, before it is done: the command, the lines that would differ, the paths; the arguments on request. */
export function EffectView({
  approval,
  isWhole,
  onToggle,
}: {
  /** The call; without `args` they are shown elsewhere. */
  approval: Pick<Approval, "tool" | "args" | "effect">;
  isWhole: boolean;
  onToggle: () => void;
}) {
  const { t } = useTranslation();
  const { args, effect } = approval;
  return (
    <div className="effect">
      <EffectHead approval={approval} />
      {effect?.command !== undefined && <CodeBlock text={visible(effect.command)} language="sh" isOpen={false} />}
      {effect?.diff && <EffectDiff diff={effect.diff} isWhole={isWhole} onToggle={onToggle} />}
      {args !== null && (
        <Disclosure title={t("tool.arguments")} isOpenAtFirst={!effect}>
          <CodeBlock text={visible(jsonText(args))} language="json" isOpen={false} />
        </Disclosure>
      )}
    </div>
  );
}

/** The tool, the paths it touches, how many lines differ, and whether it can be undone. */
function EffectHead({ approval: { tool, effect } }: { approval: Pick<Approval, "tool" | "effect"> }) {
  const { t } = useTranslation();
  return (
    <p className="effect-tool">
      <code>{visible(tool ?? "")}</code>
      {effect?.paths.map((path) => (
        <code key={path} className="effect-path">
          <FileLink path={path} />
        </code>
      ))}
      {effect?.diff !== undefined && <LineCounts added={effect.diff.added} removed={effect.diff.removed} />}
      {effect && !effect.undoable && effect.kind !== "call" && (
        <span className="effect-final">{t("approval.final")}</span>
      )}
    </p>
  );
}

/** The lines that would differ: the first ones, or all that the server has sent. */
function EffectDiff({ diff, isWhole, onToggle }: { diff: EffectLines; isWhole: boolean; onToggle: () => void }) {
  const { t } = useTranslation();
  const { lines, more } = diff;
  const shown = isWhole ? lines : lines.slice(0, firstLines);
  return (
    <>
      {shown.length > 0 && <DiffLines lines={shown} />}
      {shown.length < lines.length && (
        <button type="button" className="code-more" onClick={onToggle}>
          {t("tool.moreLines", { count: lines.length - shown.length + more })} <kbd>v</kbd>
        </button>
      )}
      {isWhole && more > 0 && <p className="hint">{t("tool.moreLines", { count: more })}</p>}
    </>
  );
}
