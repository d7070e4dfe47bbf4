import { useTranslation } from "react-i18next";
import { useMcpServers } from "../../api/shaping/mcp.ts";
import { useCaller } from "../../api/threads.ts";
import { visible } from "../../markdown/links.ts";
import { manage } from "../../text/manage/words.ts";
import { Commands } from "../commands.tsx";
import { Facts } from "../facts.tsx";

/** How the MCP servers are, where the server has any. */
export function McpFacts() {
  const isOn = useCaller().data?.features?.["mcp"] === true;
  return isOn ? <McpRows /> : null;
}

function McpRows() {
  const { t } = useTranslation(manage);
  const { data = [] } = useMcpServers();
  if (data.length === 0) return null;
  return (
    <Facts
      title={t("tools.part.mcp")}
      rows={data.map(({ name, state, problem, reason }) => [
        visible(name),
        [problem === null ? t(`mcp.state.${state}`) : t("mcp.unusable"), visible(problem ?? reason ?? "")]
          .filter((part) => part !== "")
          .join(": "),
      ])}
    />
  );
}

/** The commands by which the database is saved and put back. */
const commands = {
  sqlite: [
    { key: "save", command: 'npm run backup -- "backups/$(date +%F).db"' },
    { key: "restore", command: "npm run restore -- backups/2026-01-31.db" },
  ],
  postgres: [
    { key: "save", command: 'pg_dump --format=custom --file="$(date +%F).dump" "$MILLRACE_DATABASE"' },
    { key: "restore", command: 'pg_restore --exit-on-error --no-owner --dbname="$NEW_DATABASE" 2026-01-31.dump' },
  ],
} as const;

/** How the database is saved, as commands to copy. */
export function Backups({ kind }: { kind: "sqlite" | "postgres" }) {
  const { t } = useTranslation(manage);
  return (
    <section className="prompt-part" aria-label={t("server.backups")}>
      <h2>{t("server.backups")}</h2>
      <Commands
        commands={commands[kind].map(({ key, command }) => {
          const about = t(`server.backup.${kind}.${key}`);
          return { command, about, label: t("server.copy", { about }) };
        })}
      />
      <p className="hint">{t("server.backupHint")}</p>
    </section>
  );
}
