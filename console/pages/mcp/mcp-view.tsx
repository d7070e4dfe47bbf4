import SearchX from "icon:search-x";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import * as z from "zod/mini";
import {
  reconnectMcpServer,
  removeMcpServer,
  saveMcpServer,
  useMcpLog,
  useMcpServers,
  type McpServer,
} from "../../api/shaping/mcp.ts";
import { mcpAddress, toolAddress } from "../../app/addresses.ts";
import { JsonInput } from "../../form/fields.tsx";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed, Loading } from "../../parts/states.tsx";
import { notify, notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { jsonText } from "../../text/json-text.ts";
import { longTime } from "../../text/time.ts";
import { ChangedElsewhere } from "../changed-elsewhere.tsx";
import { Facts } from "../facts.tsx";
import { DeleteButton } from "../forms/delete-button.tsx";
import { DraftButtons } from "../forms/draft-buttons.tsx";
import { useNewest } from "../forms/newest.ts";
import { PlaceLink } from "../place-link.tsx";

/** What the file says of a server. */
export const McpEntry = z.record(z.string(), z.unknown());

/** One MCP server: how it is, its tools, what happened to it, and its entry, to be changed. */
export function McpView({ name }: { name: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useMcpServers();
  const server = data?.find((one) => one.name === name);
  if (server !== undefined) return <OneServer server={server} />;
  if (data !== undefined) return <Empty icon={<SearchX />} title={t("mcp.gone")} hint={t("mcp.goneHint")} />;
  return error === null ? <Loading lines={6} /> : <Failed error={error} onRetry={() => void refetch()} />;
}

function OneServer({ server }: { server: McpServer }) {
  const { t } = useTranslation(manage);
  const { name, entry, state, since, reason, problem, tools } = server;
  return (
    <div className="shaping-view">
      <ServerHead server={server} />
      {problem !== null && <p className="problem">{visible(problem)}</p>}
      <Facts
        title={t("models.facts")}
        rows={[
          [t("mcp.now"), t(`mcp.state.${state}`)],
          ...(since === null ? [] : [[t("mcp.since"), longTime(since)] as const]),
          ...(reason === null ? [] : [[t("mcp.reason"), visible(reason)] as const]),
        ]}
      />
      <section className="prompt-part" aria-label={t("mcp.tools")}>
        <h2>{t("mcp.tools")}</h2>
        {tools.length === 0 && <p className="hint">{t(state === "connected" ? "mcp.noTools" : "mcp.toolsLater")}</p>}
        <dl className="facts">
          {tools.map((tool) => (
            <div key={tool.name}>
              <dt className="touched-tools">
                <PlaceLink address={toolAddress(tool.name)}>{visible(tool.name)}</PlaceLink>
              </dt>
              <dd>{visible(tool.description.slice(0, 300))}</dd>
            </div>
          ))}
        </dl>
      </section>
      <EntryEditor name={name} entry={entry} />
      <ServerLog name={name} />
    </div>
  );
}

function ServerHead({ server: { name, entry, state, is_enabled } }: { server: McpServer }) {
  const { t } = useTranslation(manage);
  const [, navigate] = useLocation();
  const [isBusy, setBusy] = useState(false);
  const perform = (act: () => Promise<void>) => {
    setBusy(true);
    void act()
      .catch(notifyError)
      .finally(() => setBusy(false));
  };
  const reconnect = async () => {
    const now = await reconnectMcpServer(name);
    notify(t(now.state === "connected" ? "mcp.isConnected" : "mcp.isDown"));
  };
  const toggle = () => {
    const { enabled: _, ...others } = entry;
    return saveMcpServer(name, is_enabled ? { ...others, enabled: false } : others);
  };
  return (
    <header className="prompt-head">
      <h2>{visible(name)}</h2>
      <div className="filters">
        {state !== "off" && (
          <Button size="small" kind="primary" disabled={isBusy} onClick={() => perform(reconnect)}>
            {t("mcp.reconnect")}
          </Button>
        )}
        <Button size="small" disabled={isBusy} onClick={() => perform(toggle)}>
          {t(is_enabled ? "crons.switchOff" : "crons.switchOn")}
        </Button>
        <DeleteButton
          label={t("mcp.remove")}
          title={t("mcp.removeOne", { name: visible(name) })}
          hint={t("mcp.removeHint")}
          run={async () => {
            await removeMcpServer(name);
            navigate(mcpAddress());
          }}
        />
      </div>
    </header>
  );
}

/** An entry that was changed and not saved. */
interface EntryDraft {
  /** The entry as it was when the change began. */
  base: McpServer["entry"];
  /** The key of the field in which it is written. */
  field: string;
  value: unknown;
  problem: string | undefined;
}

function EntryEditor({ name, entry }: { name: string; entry: McpServer["entry"] }) {
  const { t } = useTranslation(manage);
  const [draft, setDraft] = useState<EntryDraft>();
  const [round, setRound] = useState(0);
  const newest = useNewest(draft);
  const { base, field }: Pick<EntryDraft, "base" | "field"> = draft ?? {
    base: entry,
    field: `${round} ${JSON.stringify(entry)}`,
  };
  const known = [base, draft?.value].map((one) => JSON.stringify(one));
  const isChanged = draft !== undefined && !known.includes(JSON.stringify(entry));
  const written = z.safeParse(McpEntry, draft?.value);
  const maySave = draft !== undefined && draft.problem === undefined && written.success;
  const drop = () => {
    setDraft(undefined);
    setRound(round + 1);
  };
  const save = async () => {
    if (!written.success) return;
    await saveMcpServer(name, written.data);
    const more = newest.current === draft ? undefined : newest.current;
    if (more === undefined) drop();
    else setDraft({ ...more, base: written.data });
    notify(t("mcp.saved"));
  };
  return (
    <section className="prompt-part schema-form" aria-label={t("mcp.entry")}>
      <h2>{t("mcp.entry")}</h2>
      {isChanged && (
        <ChangedElsewhere
          isGone={false}
          mayKeep={maySave}
          onKeep={() => save().catch(notifyError)}
          onTake={drop}
          texts={{ theirs: jsonText(entry), mine: jsonText(draft.value) }}
        />
      )}
      <JsonInput
        key={field}
        label={t("mcp.entry")}
        hint={t("mcp.entryHint")}
        rows={8}
        value={base}
        onValue={(value, problem) => setDraft({ base, field, value, problem })}
      />
      <div className="row-end">
        <DraftButtons isDirty={draft !== undefined} maySave={maySave && !isChanged} onDrop={drop} save={save} />
      </div>
    </section>
  );
}

function ServerLog({ name }: { name: string }) {
  const { t } = useTranslation(manage);
  const { data, error, refetch } = useMcpLog(name);
  return (
    <section className="prompt-part" aria-label={t("mcp.log")}>
      <h2>{t("mcp.log")}</h2>
      {data === undefined && error === null && <Loading lines={2} />}
      {data === undefined && error !== null && <Failed error={error} onRetry={() => void refetch()} />}
      {data?.length === 0 && <p className="hint">{t("mcp.noLog")}</p>}
      <dl className="facts">
        {data?.toReversed().map(({ at, what, reason }, index) => (
          <div key={index}>
            <dt>
              <time dateTime={at}>{longTime(at)}</time>
            </dt>
            <dd>
              {t(`mcp.event.${what}`)}
              {reason !== null && <p className="hint">{visible(reason)}</p>}
            </dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
