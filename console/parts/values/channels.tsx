import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import { visible } from "../../markdown/links.ts";
import { changesOf, type ChannelChange } from "../../run/state-diff.ts";
import { byteSize } from "../../text/time.ts";
import { work } from "../../text/inspector/work.ts";
import { DiffLines } from "../diff.tsx";
import { Disclosure } from "../disclosure.tsx";
import { JsonView } from "./json-view.tsx";

/** The values of a state, by channel. `before`: only what differs from that is shown, and how; `none`: what is said where nothing does. */
export function Channels({ values, before, none }: { values: unknown; before?: unknown; none?: string }) {
  const { t } = useTranslation(work);
  const channels = useMemo(() => changesOf(before, values), [before, values]);
  const shown = before === undefined ? channels.filter(({ kind }) => kind !== "removed") : channels.filter(isChanged);
  if (shown.length === 0)
    return <p className="hint">{none ?? t(before === undefined ? "graph.noState" : "run.noDiff")}</p>;
  const words = { added: t("run.added"), changed: t("run.changed"), removed: t("run.removed"), same: "" };
  return (
    <ul className="channels">
      {shown.map((channel) => (
        <li key={channel.name} data-kind={before === undefined ? undefined : channel.kind}>
          <Disclosure title={visible(channel.name)} isOpenAtFirst={channel.size < 4_000}>
            {before !== undefined && channel.lines.length > 0 ? (
              <DiffLines lines={channel.lines} />
            ) : (
              <JsonView value={channel.value} label={channel.name} />
            )}
          </Disclosure>
          <span className="channel-note">
            {before !== undefined && <b>{words[channel.kind]}</b>}
            {byteSize(channel.size)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function isChanged({ kind }: ChannelChange): boolean {
  return kind !== "same";
}
