import * as z from "zod/mini";
import { useTranslation } from "react-i18next";
import type { Approval, DiffLine } from "../../api/shapes.ts";
import { DiffLine as DiffLineShape } from "../../api/shapes.ts";
import { CodeBlock } from "../../markdown/code.tsx";
import { visible } from "../../markdown/links.ts";
import { DiffLines, simpleDiff } from "../diff.tsx";
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
  const command = effect?.command ?? textOf(args, "command");
  const lines = linesOf(approval);
  const paths = effect?.paths ?? pathsOf(args);
  const shown = isWhole ? lines : lines.slice(0, firstLines);
  return (
    <div className="effect">
      <p className="effect-tool">
        <code>{visible(approval.tool ?? "")}</code>
        {paths.map((path) => (
          <code key={path} className="effect-path">
            {visible(path)}
          </code>
        ))}
      </p>
      {command !== undefined && command !== "" && <CodeBlock text={visible(command)} language="sh" isOpen={false} />}
      {shown.length > 0 && <DiffLines lines={shown} />}
      {shown.length < lines.length && (
        <button type="button" className="code-more" onClick={onToggle}>
          {t("tool.moreLines", { count: lines.length - shown.length })} <kbd>v</kbd>
        </button>
      )}
      <Disclosure title={t("tool.arguments")}>
        <CodeBlock text={visible(JSON.stringify(args ?? {}, null, 2))} language="json" isOpen={false} />
      </Disclosure>
    </div>
  );
}

function textOf(args: Approval["args"], name: string): string | undefined {
  const value = args?.[name];
  return typeof value === "string" ? value : undefined;
}

function pathsOf(args: Approval["args"]): string[] {
  return ["path", "old_path", "new_path", "source", "destination"].flatMap((name) => textOf(args, name) ?? []);
}

const Edits = z.array(z.object({ old_string: z.string(), new_string: z.string() }));
const Preview = z.object({ operation: z.object({ preview: z.string() }) });
const EffectDiff = z.union([
  z.array(DiffLineShape),
  z.pipe(
    z.object({ lines: z.array(DiffLineShape) }),
    z.transform(({ lines }) => lines),
  ),
]);

/** The lines that would differ: as the server says, else as far as the arguments tell. */
function linesOf({ args, effect, value }: Approval): DiffLine[] {
  if (effect?.diff !== undefined && effect.diff !== null) {
    const told = z.safeParse(EffectDiff, effect.diff).data;
    if (told !== undefined) return told;
    if (typeof effect.diff === "string") return unified(effect.diff);
  }
  const preview = z.safeParse(Preview, value).data?.operation.preview;
  if (preview !== undefined) return unified(preview);
  const edits = z.safeParse(Edits, args?.["edits"]).data;
  if (edits !== undefined) return edits.flatMap(({ old_string, new_string }) => simpleDiff(old_string, new_string));
  const content = textOf(args, "content");
  return content === undefined ? [] : simpleDiff("", content);
}

/** Reads lines that begin with their sign. */
function unified(text: string): DiffLine[] {
  return text.split("\n").map((line): DiffLine => {
    const kind = line.startsWith("+") ? "added" : line.startsWith("-") ? "removed" : "same";
    return { kind, text: kind === "same" ? line.replace(/^ /u, "") : line.slice(1), old_line: null, new_line: null };
  });
}
